"""Comparison of schemes by confidence intervals over their runs."""
