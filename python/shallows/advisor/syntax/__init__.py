"""The forms in which vendors write configurations: indented lines, braces, commands with paths, YAML.

Each becomes a list of statements, which readers take apart; nothing here knows what a setting means.
"""
