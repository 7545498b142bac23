"""A demo over made-up trades: many window queries, one shared Spark job, one report."""
