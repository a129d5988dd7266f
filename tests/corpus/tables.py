"""The corpus judged, as tables for people."""

import itertools

import figures
import report
import verdicts

COLUMNS = ("plays", "class right", "place right", "lost within 15 %", "within 10 %",
           "off, in % of the step: median, most", "alarms")
INTERVAL = "true lost time in the interval told"
MISSES = ("play", "record", "true", "told", "lost ms true, told")


def counted(values):
    share = figures.share(values)
    return f"{share['right']} of {share['of']}" if share["of"] else report.ABSENT


def holds(found):
    """Whether the interval of lost time has the true one."""
    between, lost = found["told"].get("lost_between"), found["lost"]
    if not between or not lost or not found["class_right"]:
        return None
    return between[0] <= lost["true"] <= between[1]


def off(group):
    spread = figures.spread([one["off_of_step"] for one in group])
    return ", ".join(report.percent(spread[word]) for word in ("median", "max")) if spread else (
        report.ABSENT)


def cells(group, has_intervals):
    healthy = [one["alarm"] for one in group if one["true"]["class"] == "compute"]
    return [str(len(group)), counted([one["class_right"] for one in group]),
            counted([one["place_right"] for one in group]),
            counted([verdicts.within(one, 0.15) for one in group]),
            counted([verdicts.within(one, 0.10) for one in group]), off(group), counted(healthy),
            *([counted([holds(one) for one in group])] if has_intervals else [])]


def table(found, by):
    """A row for each group of the judgements, by these words."""
    has_intervals = any(holds(one) is not None for one in found)
    groups = {}
    for one in found:
        groups.setdefault(tuple(one[word] for word in by), []).append(one)
    return [[*by, *COLUMNS, *([INTERVAL] if has_intervals else [])],
            *([*key, *cells(groups[key], has_intervals)] for key in sorted(groups))]


def misses(found):
    rows = [list(MISSES)]
    for one in found:
        if one["class_right"] and one["place_right"] is not False and (
                verdicts.within(one, 0.15) is not False):
            continue
        lost = one["lost"] or {}
        rows.append([one["name"], one["record"], report.said(one["true"], one["true"]),
                     one["failure"] or report.said(one["told"], one["told"]["where"]),
                     f"{report.number(lost.get('true'))}, {report.number(one['told']['lost_ms'])}"])
    return rows


def sections(found):
    whole = [one for one in found if one["record"] == verdicts.WHOLE]
    yield "All plays, by records", table(found, ("record",))
    yield "Whole records, by kind", table(whole, ("kind",))
    yield "Whole records, by kind and shape of the job", table(whole, ("kind", "shape"))
    lesser = [one for one in found if one["record"] != verdicts.WHOLE]
    yield "Lesser records, by kind and shape of the job", table(lesser, ("record", "kind", "shape"))
    yield "What is not right", misses(found)


def text(found):
    """The first two; the others are in the file."""
    return "\n\n".join(f"{title}\n{report.aligned(rows)}"
                       for title, rows in itertools.islice(sections(found), 2))


def markdown(found):
    return "\n\n".join(f"## {title}\n{report.table(rows)}"
                       for title, rows in sections(found)) + "\n"
