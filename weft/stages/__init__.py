"""Plans as lists of stages, which explain prints and the runners execute."""
