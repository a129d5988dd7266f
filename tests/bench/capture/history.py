"""The ratios that were recorded at earlier commits, and by what factor those of now differ."""

import csv
import datetime
import pathlib

from bench import text_of

RECORDED = pathlib.Path(__file__).with_name("ratios.csv")
COLUMNS = ["date", "commit", "ours", "against", "median", "min", "max"]


def recorded():
    with RECORDED.open(newline="") as file:
        return list(csv.DictReader(file))


def with_moves(ratios):
    """Each ratio with the last one that was recorded of the same pair."""
    for one in ratios:
        before = [row for row in recorded()
                  if (row["ours"], row["against"]) == (one["ours"], one["against"])]
        if before and one["median"]:
            one["before"] = before[-1]
            one["moved"] = round(one["median"] / float(before[-1]["median"]), 3)
    return ratios


def record(ratios):
    root = RECORDED.parents[3]
    commit = text_of(["git", "-C", root, "rev-parse", "--short=8", "HEAD"])
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    with RECORDED.open("a", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        for one in ratios:
            if one["median"]:
                rows.writerow([date, commit, one["ours"], one["against"],
                               *(f"{one[name]:.2f}" for name in ("median", "min", "max"))])
