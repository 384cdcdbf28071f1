"""Many runs: the points of a sweep, and who runs them."""
