"""Syntax of configurations: indented lines, braces, commands with paths, YAML.

Each is parsed into a list of statements for the readers, independent of the settings' meaning.
"""
