"""Syntax of configurations: indented lines, braces, commands with paths, YAML.

Each parser returns statements or nodes for the readers, independent of the settings' meaning.
"""
