"""The catalog: what queries, plans and runs leave for those that come after, in one SQLite file."""
