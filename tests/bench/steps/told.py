"""What a record tells of steps, held against the steps that the job says it took.

A step that is told begins somewhere inside a true one, always at about the same place. So what a
row covers is counted in true steps: from 3.2 to 4.2 is one, from 3.2 to 3.7 is a half.
"""

import bisect
import itertools
import json
import pathlib
import statistics

MARKS = 1
SOURCES = {"collectives": 3, "traffic": 4}
RIGHT = 0.25  # of a step, that a row may be off one
WARM_UP_STEPS = 1


class Truth:
    def __init__(self, steps):
        self.steps = steps
        self.borders = [step["start_ns"] for step in self.steps] + [self.steps[-1]["end_ns"]]

    @staticmethod
    def of_trainer(file):
        return Truth(json.loads(pathlib.Path(file).read_text())["steps"])

    @staticmethod
    def of_marks(record):
        return Truth(record.steps(MARKS))

    @property
    def mean_ms(self):
        borders = self.borders[WARM_UP_STEPS:]
        return (borders[-1] - borders[0]) / (len(borders) - 1) / 1e6

    @property
    def spread_percent(self):
        each = self.each_ms(self.borders[WARM_UP_STEPS], self.borders[-1])
        return 100 * statistics.pstdev(each) / statistics.mean(each)

    def each_ms(self, begin_ns, end_ns):
        """Of the steps that lie within for the most part."""
        return [(b - a) / 1e6 for a, b in itertools.pairwise(self.borders)
                if begin_ns <= (a + b) // 2 <= end_ns]

    def place(self, t_ns):
        """In true steps."""
        number = min(max(bisect.bisect_right(self.borders, t_ns) - 1, 0), len(self.steps) - 1)
        begin, end = self.borders[number:number + 2]
        return number + (t_ns - begin) / (end - begin)


def figures(rows, truth):
    """Of one source; nothing where it told nothing."""
    if not rows:
        return None
    begin, end = rows[0]["start_ns"], rows[-1]["end_ns"]
    true_ms = (end - begin) / (truth.place(end) - truth.place(begin)) / 1e6
    usual_ms = statistics.median(truth.each_ms(begin, end))
    each_ms = [length_ms(row) for row in rows for _ in range(row["merged"] or 1)]
    mean, median = statistics.mean(each_ms), statistics.median(each_ms)
    return {"true_ms": true_ms, "mean_ms": mean, "median_ms": median,
            "off_percent": 100 * (mean / true_ms - 1),
            "median_off_percent": 100 * (median / usual_ms - 1),
            "told": len(each_ms), "told_percent": 100 * len(each_ms) / len(truth.steps),
            "wrong": sum(is_wrong(row, truth) for row in rows)}


def length_ms(row):
    took_ns = row["busy_ns"] or row["end_ns"] - row["start_ns"]
    return took_ns / (row["merged"] or 1) / 1e6


def is_wrong(row, truth):
    covers = truth.place(row["end_ns"]) - truth.place(row["start_ns"])
    return abs(covers / (row["merged"] or 1) - 1) > RIGHT


def of_record(record, truth):
    return {name: figures(record.steps(number), truth) for name, number in SOURCES.items()}
