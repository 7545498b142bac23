"""Harnesses that tests, the fuzzer and the crash test share."""
