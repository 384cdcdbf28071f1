"""Running scenarios and reading the results of runs."""
