"""What papers claim, and whether runs bear it out."""
