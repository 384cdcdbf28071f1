"""Options of the commands, in one module for each group of commands."""
