"""Judgements held against expected.tsv, which has a line for each play and record. A class or place
that was right is to stay right, a healthy play to stay without an alarm, and of each kind as many
plays are to have their lost time within 15 %, but for one."""

import collections
import dataclasses

import rows
import verdicts
from rows import Refused

COLUMNS = ("play", "record", "told", "class", "place", "within_15", "within_10", "alarm")
WORDS = {"yes": True, "no": False, "-": None}
CELLS = {value: word for word, value in WORDS.items()}
MOST_LESS = 1  # of a kind, within 15 %


@dataclasses.dataclass(frozen=True)
class Line:
    play: str
    record: str
    told: str
    is_class_right: bool
    is_place_right: bool | None
    is_within_15: bool | None
    is_within_10: bool | None
    is_alarm: bool

    @property
    def key(self):
        return self.play, self.record

    def cells(self):
        return dict(zip(COLUMNS, (self.play, self.record, self.told, *(
            CELLS[value] for value in dataclasses.astuple(self)[3:]))))


def line_of(found):
    return Line(found["name"], found["record"], found["told"]["class"], found["class_right"],
                found["place_right"], verdicts.within(found, 0.15), verdicts.within(found, 0.10),
                found["alarm"])


def by_key(lines):
    return {line.key: line for line in lines}


def read(file):
    try:
        return by_key(Line(line["play"], line["record"], line["told"],
                           *(WORDS[line[column]] for column in COLUMNS[3:]))
                      for line in rows.read(file, COLUMNS))
    except KeyError as error:
        raise Refused(f"{file}: {error} is none of {' '.join(WORDS)}") from error


def write(file, lines):
    rows.write(file, COLUMNS, [lines[key].cells() for key in sorted(lines)])


def lost_of_one(before, after):
    """What was right of a play and is no more."""
    if after.is_alarm and not before.is_alarm:
        yield f"{after.told} is an alarm, and the play is healthy"
    elif before.is_class_right and not after.is_class_right:
        yield f"the class {before.told} was right, {after.told} is not"
    elif before.is_place_right and after.is_place_right is False:
        yield "the place was right and is not"


def within_by_kind(lines, kinds):
    return collections.Counter((kinds[line.play], line.record) for line in lines
                               if line.is_within_15)


def lost_of_kinds(before, after, kinds):
    """Of the plays that both have."""
    both = [key for key in before if key in after]
    were = within_by_kind([before[key] for key in both], kinds)
    are = within_by_kind([after[key] for key in both], kinds)
    for (kind, record), count in sorted(were.items()):
        if are[kind, record] < count - MOST_LESS:
            yield (f"{kind}, {record}: {are[kind, record]} plays have their lost time within 15 %, "
                   f"{count} had")


def losses(before, after, kinds):
    """A line each; `kinds`: of each play that is stored."""
    found = []
    for key in sorted(before):
        told = (lost_of_one(before[key], after[key]) if key in after else
                ["it is not judged any more"])
        found += [f"{', '.join(key)}: {what}" for what in told]
    return found + list(lost_of_kinds(before, after, kinds))


def unexpected(before, after):
    return [f"{', '.join(key)}: no line in expected.tsv" for key in sorted(after)
            if key not in before]


def gains(before, after):
    """How many lines have more that is right than was."""
    return sum(points(after[key]) > points(before[key]) for key in before if key in after)


def points(line):
    return sum((line.is_class_right, line.is_place_right is True, line.is_within_15 is True,
                line.is_within_10 is True))


def counted(lines, what):
    values = [getattr(line, what) for line in lines]
    known = [value for value in values if value is not None]
    return f"{sum(known)}/{len(known)}"


def counts(lines):
    """For the ledger: of whole records, and classes of all."""
    if not lines:
        return "nothing"
    whole = [line for line in lines.values() if line.record == verdicts.WHOLE]
    return (f"class {counted(whole, 'is_class_right')}, place {counted(whole, 'is_place_right')}, "
            f"within 15 % {counted(whole, 'is_within_15')}, "
            f"alarms {sum(line.is_alarm for line in whole)}; "
            f"class of all records {counted(lines.values(), 'is_class_right')}")
