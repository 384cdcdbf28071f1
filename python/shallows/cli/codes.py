"""Exit codes. 3: all went well and a run measured nothing; 130 is what shells use for Ctrl-C."""

OK, FAILED, USAGE, EMPTY, INTERRUPTED = 0, 1, 2, 3, 130
