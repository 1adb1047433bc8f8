"""Arrays in, arrays out: the inner loops, compiled, and their readable NumPy twins."""
