"""One figure for each question."""
