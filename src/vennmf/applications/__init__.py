"""Retrieve, cluster, tag, explain: what the factors are for."""
