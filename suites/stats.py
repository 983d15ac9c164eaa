"""Statistics of samples, nonparametric throughout: times are neither normal nor independent of outliers.

May import: the standard library.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

LEAST_FOR_INTERVAL = 6
"""Below six samples not even the full range covers the median with 95 %: 1 - 2 * 0.5^5 = 93.75 %."""
LEAST_FOR_P99 = 300
"""The largest of n samples bounds the 99th percentile with 95 % confidence from n = 299 on: 1 - 0.99^n >= 0.95."""


def interval95(samples: Sequence[float]) -> tuple[float, float] | None:
    """The narrowest symmetric pair of order statistics that covers the median with at least 95 %.

    Source: exact binomial, J.-Y. Le Boudec, "Performance Evaluation of Computer and Communication Systems", 2.2.2.
    """
    n = len(samples)
    if n < LEAST_FOR_INTERVAL:
        return None
    ordered = sorted(samples)
    if n > 1000:  # the normal approximation, where the exact sum would only cost time
        reach = 1.96 * math.sqrt(n) / 2
        low = max(math.floor(n / 2 - reach) - 1, 0)
        return ordered[low], ordered[n - 1 - low]
    outside, low = 0.0, -1
    # P(fewer than k of n samples lie below the median), for growing k, while both tails stay within 5 %.
    for k in range(n // 2):
        outside += math.comb(n, k) / 2**n
        if 2 * outside > 0.05:
            break
        low = k
    return ordered[low], ordered[n - 1 - low]


def percentile(samples: Sequence[float], percent: float) -> float:
    """Nearest rank: the smallest sample that at least `percent` of all do not exceed."""
    ordered = sorted(samples)
    return ordered[max(math.ceil(percent / 100 * len(ordered)) - 1, 0)]


def p99(samples: Sequence[float]) -> float | None:
    """Null where the sample is too small to know."""
    return percentile(samples, 99) if len(samples) >= LEAST_FOR_P99 else None


__all__ = ["interval95", "median", "p99", "percentile"]
