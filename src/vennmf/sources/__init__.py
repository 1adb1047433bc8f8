"""Where rows come from: tables, text, named data sets, planted data."""
