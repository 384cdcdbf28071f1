"""Buffer and queue configurations of switches: reads, explains, recommends and writes them."""
