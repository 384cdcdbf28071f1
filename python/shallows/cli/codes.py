"""Exit codes. 3: no error, but a run measured nothing or is invalid; 130: Ctrl-C, as in shells."""

OK, FAILED, USAGE, EMPTY, INTERRUPTED = 0, 1, 2, 3, 130
