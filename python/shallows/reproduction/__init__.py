"""Claims of papers, and their verdicts from runs."""
