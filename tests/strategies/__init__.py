"""Random tables, queries, expressions and arrivals for hypothesis."""
