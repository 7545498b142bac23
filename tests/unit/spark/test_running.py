"""What is said of a stream that failed; no Spark is started here."""

from __future__ import annotations

import pytest

from weft.spark.running import told

PLAN = "\n\n=== Streaming Query ===\nIdentifier: weft scan-0\nLogical Plan:\nSomeError: not this\n"
CASES = {
    "a sink in Python": (
        "An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):\n"
        '  File "outlet.py", line 41, in take\n    raise converted from None\n'
        "pyspark.errors.exceptions.captured.ArithmeticException: [DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012\n"
        "== SQL (line 1, position 5) ==\nsum(1 DIV x)\n",
        "[DIVIDE_BY_ZERO] Division by zero.",
    ),
    "causes of Java": (
        "[STREAM_FAILED] Query terminated: Job aborted. SQLSTATE: XXKST\n\tat org.apache.X.run(X.scala:1)\n"
        "Caused by: org.apache.spark.SparkException: Job aborted.\n\tat a.b(c)\n"
        "Caused by: java.io.FileNotFoundException: File a.json does not exist\n\tat a.b(c)\n",
        "File a.json does not exist.",
    ),
    "nothing but a line": ("[STREAM_FAILED] Query terminated.", "[STREAM_FAILED] Query terminated."),
    "nothing": ("", "Exception."),
}


@pytest.mark.parametrize("case", CASES)
def test_the_innermost_error_is_told(case: str) -> None:
    text, said = CASES[case]
    assert told(Exception(text + PLAN if text else text)) == said
