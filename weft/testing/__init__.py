"""Strategies and checks for tests of Weft and of what others build on it. Needs hypothesis."""
