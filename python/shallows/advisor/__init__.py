"""Advisor for buffer and queue configurations of switches: reads, explains, recommends and writes them."""
