"""Metrics and series of finished runs, by name."""
