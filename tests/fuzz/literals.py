"""Literals of every type and magnitude, as SQL."""

from __future__ import annotations

import random

SMALL = ("0", "1", "-1", "2", "5", "7", "60")
INTS = (*SMALL, "127", "128", "-129", "32767", "32768", "1000000000", "2147483647", "2147483648", "9999999999",
        "4294967296", "5L", "3S", "7Y", "1000000000000000000", "9223372036854775807", "9223372036854775808",
        "12345678901234567890123")
DECIMALS = ("0.5", "1.5", "9.05", "0.05", "0.1", "10.", ".25", "1.50", "99999999.99", "0.000000000000000001", "1.5BD",
            "123456789012345678.5", "00012.3400")
REALS = ("1e3", "1E-2", "2.5D", "1.5F", "0.5D", "1e0", "-0.0D", "1e15", "CAST('NaN' AS DOUBLE)")
DYADIC = ("2", "0.5D", "1e0", "4", "2.5D", "-1")
NUMBERS = (*INTS, *DECIMALS, *REALS)
TEXTS = ("'a'", "''", "'zz'", "'Zürich'", "'日本'", r"'it\'s'", "'k0'", "'5'", '"A"', "'a longer text with spaces'",
         "r'b'", "'nothing'", "'a\\nb'", "'%'", "'[RANGE 1 s]'", "'-- no comment'")
DATES = ("DATE'2020-01-01'", "DATE'1970-01-01'", "DATE'2024-02-29'", "DATE'0001-01-01'", "DATE'9999-12-31'")
TIMES = ("TIMESTAMP'2023-11-14 22:13:25'", "TIMESTAMP'1970-01-01 00:00:00'", "TIMESTAMP'2024-03-31 02:30:00'",
         "TIMESTAMP'2023-11-14T22:13:30.000001Z'", "TIMESTAMP'1969-12-31 23:59:58+01:00'", "TIMESTAMP_LTZ'2023-11-15'",
         "TIMESTAMP_NTZ'2023-11-14 22:13:25'")
INTERVALS = ("INTERVAL '1' DAY", "INTERVAL 2 HOURS", "INTERVAL '1 02:03:04.5' DAY TO SECOND", "INTERVAL '90' MINUTE",
             "INTERVAL 3 DAYS 4 MINUTES", "INTERVAL '-1' SECOND")
MONTHS = ("INTERVAL '1' MONTH", "INTERVAL 2 YEARS", "INTERVAL '1-2' YEAR TO MONTH")
BYTES = ("X'1F'", "X''")
TRUTHS = ("true", "false")
FAMILIES = {"int": INTS, "decimal": DECIMALS, "real": REALS, "number": NUMBERS, "small": SMALL, "dyadic": DYADIC,
            "text": TEXTS, "date": DATES, "time": TIMES, "interval": INTERVALS, "month": MONTHS, "bytes": BYTES,
            "truth": TRUTHS}


def literal(rng: random.Random, family: str) -> str:
    """A literal of a family."""
    if family == "int" and rng.random() < 0.2:
        return str(rng.randint(-(10 ** rng.randint(1, 18)), 10 ** rng.randint(1, 19)))
    if family == "decimal" and rng.random() < 0.3:
        return f"{rng.randint(0, 10 ** rng.randint(1, 9))}.{rng.randint(0, 999):03d}"
    return rng.choice(FAMILIES[family])
