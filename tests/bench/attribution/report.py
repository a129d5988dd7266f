"""The figures for people: a text for the terminal, and Markdown fit for docs/internals/attribution.md."""

import figures

ABSENT = "–"


def percent(value, digits=1):
    return ABSENT if value is None else f"{100 * value:.{digits}f} %"


def number(value, digits=0):
    return ABSENT if value is None else f"{value:.{digits}f}"


def counted(share):
    return f"{percent(share['share'])} ({share['right']} of {share['of']})"


def place_of(words):
    """`from` a `to` b, and whatever else is told of where."""
    ends = "→".join(str(words[end]) for end in ("from", "to") if words.get(end) is not None)
    rest = [f"{name} {words[name]}" for name in ("direction", "interface", "rank", "node")
            if words.get(name) is not None]
    return ", ".join([ends] * bool(ends) + rest)


def said(words, where):
    cause = f" ({words['cause']})" if words.get("cause") else ""
    return f"{words['class']}{cause} {place_of(where)}".strip()


def summary(document):
    columns = {"all": document["figures"], **document["halves"]}
    rows = [("class right", "class", counted), ("of faulty ones", "class_of_faulty", counted),
            ("cause right, of these", "cause", counted),
            ("place right, of these", "place", counted),
            ("lost ms within 15 %, of these", "lost", counted),
            ("lost ms off, median and 90 %", "lost_off", off_told),
            ("healthy, but an alarm", "alarms", counted),
            ("same class after ten steps", "stable", counted),
            ("the same or unknown, looked at live", "live", counted),
            ("unknown, looked at live", "live_unknown", counted),
            ("second fault named", "second", counted),
            ("confidence off, on average", "calibration", lambda found: percent(found["error"]))]
    return [["", *columns], *([title, *(show(column[key]) for column in columns.values())]
                              for title, key, show in rows)]


def off_told(spread):
    return ABSENT if not spread else f"{percent(spread['median'])}, {percent(spread['p90'])}"


def reliability(document):
    return [["confidence", "verdicts", "said on average", "right"],
            *([f"{percent(row['from'], 0)} to {percent(row['to'], 0)}", str(row["count"]),
               percent(row["told"]), percent(row["right"])]
              for row in document["figures"]["calibration"]["bins"])]


def matrix(document):
    confusion = document["confusion"]
    classes = sorted({*confusion, *(told for row in confusion.values() for told in row)})
    return [["true \\ told", *classes],
            *([true, *(str(confusion[true].get(told, "·")) for told in classes)]
              for true in sorted(confusion))]


def missed(document):
    rows = [["scenario", "half", "wrong", "true", "told", "lost ms true, told", "others"]]
    for one in document["misses"]:
        lost = one["lost"] or {}
        rows.append([one["name"], one["half"], " ".join(figures.reasons(one)),
                     said(one["true"], one["true"]),
                     one["failure"] or said(one["told"], one["told"]["where"]),
                     f"{number(lost.get('true'))}, {number(one['told']['lost_ms'])}",
                     " ".join(filter(None, one["others"][:3]))])
    return rows


def all_cases(document):
    rows = [["scenario", "true", "step ms", "twin", "lost", "told lost", "off", "told"]]
    for one in document["judgements"]:
        lost = one["lost"] or {}
        rows.append([one["name"], said(one["true"], one["true"]), number(one["step_ms"]["true"]),
                     number(one["step_ms"]["twin"]), number(lost.get("true")),
                     number(one["told"]["lost_ms"]), percent(lost.get("off"), 0),
                     one["failure"] or said(one["told"], one["told"]["where"])])
    return rows


def left_out(document):
    return [["left out", "why"], *([one["name"], one["why"]] for one in document["left_out"])]


def sections(document):
    yield f"{document['cases']} recordings of {document['scenarios']} scenarios", summary(document)
    yield "Recordings by class, true and told", matrix(document)
    yield "Confidence said, and how often it was right", reliability(document)
    if document["twins"]:
        yield "Healthy twins", [["alarms", counted(document["twins"]["alarms"])]]
    if document["misses"]:
        yield "Misses", missed(document)
    if document["left_out"]:
        yield "No scenarios", left_out(document)


def text(document):
    return "\n\n".join(f"{title}\n{aligned(rows)}" for title, rows in sections(document))


def aligned(rows):
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                     for row in rows)


def markdown(document):
    parts = [f"## {title}\n{table(rows)}" for title, rows in sections(document)]
    return "\n\n".join([*parts, f"## All of them\n{table(all_cases(document))}"]) + "\n"


def table(rows):
    head, *rest = (f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows)
    return "\n".join([head, "|" + "---|" * len(rows[0]), *rest])
