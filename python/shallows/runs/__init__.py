"""Running a scenario, and reading what the run has left."""
