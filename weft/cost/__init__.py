"""Costs: what things take on this machine, measured."""
