"""Sweeps: their points, and the engines that run them."""
