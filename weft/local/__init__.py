"""Plans run on NumPy alone, without Spark: the oracle of plans, and the ground of the papers' throughput figures."""
