"""A demo over made-up trades: many window queries, few shared scans, one report."""
