"""Ratios of pairs, and how far their median can be trusted, without an assumption of how they are
distributed: between the k-th smallest and the k-th largest it lies as often as coins would say."""

import math
import statistics

WANTED_CONFIDENCE = 0.95


def confidence(count, rank):
    """That the median lies between the rank-th value from below and from above, from 1."""
    outside = sum(math.comb(count, below) for below in range(rank)) / 2 ** count
    return 1 - 2 * outside


def interval(values):
    """The narrowest that is trusted enough; of few values, all there is."""
    ordered, rank = sorted(values), 1
    while confidence(len(ordered), rank + 1) >= WANTED_CONFIDENCE:
        rank += 1
    return ordered[rank - 1], ordered[-rank], confidence(len(ordered), rank)


def ratio(pairs, figure):
    ratios = [pair["watched"][figure] / pair["alone"][figure] for pair in pairs]
    low, high, trusted = interval(ratios)
    return {"median": statistics.median(ratios), "low": low, "high": high, "confidence": trusted,
            "count": len(ratios), "alone": statistics.median(p["alone"][figure] for p in pairs)}


def spread(values):
    known = [value for value in values if value is not None]
    return {"median": statistics.median(known) if known else math.nan,
            "min": min(known, default=math.nan), "max": max(known, default=math.nan)}
