"""Where sums, differences and products of integers do not fit their type."""

from __future__ import annotations

import numpy as np

# Products of the doubles nearest to two factors err by less than three units of 2^-53: nothing beyond passes below.
SURE = float(2**63) * (1 - 2.0**-50)


def sum_overflows(left: np.ndarray, right: np.ndarray, result: np.ndarray) -> np.ndarray:
    """Where both operands have the sign that the result has not."""
    return ((left ^ result) & (right ^ result)) < 0


def difference_overflows(left: np.ndarray, right: np.ndarray, result: np.ndarray) -> np.ndarray:
    """Where the operands differ in sign, and so do the minuend and the result."""
    return ((left ^ right) & (left ^ result)) < 0


def product_overflows(left: np.ndarray, right: np.ndarray, result: np.ndarray) -> np.ndarray:
    """Where the product does not fit; of longs also where it is so close to the limit that doubles cannot tell."""
    if result.dtype == np.int32:
        return np.asarray(left, np.int64) * np.asarray(right, np.int64) != result
    return np.abs(np.asarray(left, np.float64) * np.asarray(right, np.float64)) >= SURE


OVERFLOWS = {"+": sum_overflows, "-": difference_overflows, "*": product_overflows}
