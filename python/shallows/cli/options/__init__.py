"""Options of the commands: one module for each group of them."""
