"""Comparison of schemes by intervals over their runs."""
