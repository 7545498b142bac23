"""Answers of a sample: integer weights, estimates and variances, and the share of rows that an error bound needs."""
