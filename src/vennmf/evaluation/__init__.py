"""Measures and protocols."""
