"""Calibration: measures the kernels and Spark on this machine, and gives the figures by which plans are priced."""
