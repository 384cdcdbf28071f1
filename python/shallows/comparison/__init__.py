"""Which of two schemes is better, as far as their runs can tell."""
