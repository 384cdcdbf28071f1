"""Exit codes: 3 means that a run measured nothing or is invalid, and 130 means Ctrl-C, as in shells."""

OK, FAILED, USAGE, EMPTY, INTERRUPTED = 0, 1, 2, 3, 130
