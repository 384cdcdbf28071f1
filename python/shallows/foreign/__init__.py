"""Files of other simulators: read into scenarios, and written from scenarios and runs."""
