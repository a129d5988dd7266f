"""The figures as tables."""


def row(*cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def table(head, rows):
    return [row(*head), row(*["---"] * len(head)), *(row(*cells) for cells in rows), ""]


def of_kills(part):
    missing = part["missing_ms"] or {"median": float("nan"), "most": float("nan")}
    return [
        *table(("killed", "kills"), sorted(part["by_victims"].items())),
        *table(("kills", ""), [
            ("in all", part["kills"]),
            ("processes killed by them", part["processes_killed"]),
            *((f"around the job on {name}", count) for name, count in part["by_job"].items()),
            ("before the job had started", part["before_the_job"]),
            ("after it had ended", part["after_the_job"]),
            ("with a job that was harmed or a record that lacks something", part["harmed"]),
            ("held against the time of the kill", part["held_against_time"]),
            ("newest sample in the record, ms before the kill: median, most",
             f"{missing['median']:.0f}, {missing['most']:.0f}")])]


def of_faults(part):
    return table(("fault", "runs", "of these chokepoint met it", "jobs harmed",
                  "runs with any complaint", "longest from the job's end to chokepoint's, s"),
                 [(kind, found["plays"], found["met"], found["jobs_harmed"],
                   found["with_a_complaint"], f"{found['most_s_after_the_job'] or 0:.1f}")
                  for kind, found in part["kinds"].items()])


def of_hostile(part):
    calm, besieged, growth = part["calm"], part["besieged"], part["growth"]
    return [
        f"{part['peers']} hostile peers of {len(part['kinds'])} kinds in {part['rounds']} rounds.",
        "",
        *table(("the client's probes", "without hostile peers", "with them"), [
            ("succeeded", *(f"{one['succeeded']} of {one['probes']}" for one in (calm, besieged))),
            ("median throughput, Mb/s", f"{calm['mbps']:.1f}", f"{besieged['mbps']:.1f}"),
            ("longest, s", f"{calm['longest_s']:.2f}", f"{besieged['longest_s']:.2f}")]),
        f"Median of the rounds' ratios: {part['ratio']:.4f}.", "",
        *table(("the server", "at first", "most", "at the end"), [
            (what, *(f"{one[when]:.1f}" for when in ("first", "most", "last")))
            for what, one in growth.items()])]


def of_long(part):
    lines = []
    if "real" in part:
        real = part["real"]
        size = real["record_mb"]
        lines = [f"{real['minutes']:.1f} minutes, {real['looks']} looks. Records of both nodes: "
                 f"{size['first_quarter']:.1f} MB after a quarter, {size['half']:.1f} MB after "
                 f"half, {size['end']:.1f} MB at the end.", "",
                 *table(("processes of both nodes", "", "second quarter", "last quarter"),
                        [(role, what, f"{medians['second']:.2f}", f"{medians['last']:.2f}")
                         for role, figures in real["flat"].items()
                         for what, medians in figures.items()])]
    if "made_up" in part:
        lines += table(("made-up hours", "rows", "folder, MB"), [
            (one["hours"], one["rows"], f"{one['folder_bytes'] / 1e6:.1f}")
            for one in part["made_up"] if "folder_bytes" in one and "hours" in one])
    return lines


OF = {"kills": of_kills, "faults": of_faults, "hostile": of_hostile, "long": of_long}


def of_part(name, part):
    lines = [f"## {name}", "", f"Begun {part['began']} UTC, {part['seconds']:.0f} s.", "",
             *OF[name](part)]
    if part["complaints"]:
        lines += ["Complaints:", "", *(f"- {words}" for words in part["complaints"]), ""]
    return "\n".join(lines)


def all_of(document):
    machine = document["machine"]
    head = f"# Endurance\n\n{machine['processors']} processors, kernel {machine['kernel']}, seed " \
           f"{document['seed']}.\n\n"
    return head + "\n".join(of_part(name, part) for name, part in document["parts"].items())
