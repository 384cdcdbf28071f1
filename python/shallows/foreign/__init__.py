"""Import of other simulators' files as scenarios, and export of scenarios and runs to HPCC."""
