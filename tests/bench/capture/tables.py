"""The figures as tables for people; the document has all of them."""

from report import figure, table


def met(is_met):
    return "met" if is_met else "not met"


def moved(one):
    if "moved" not in one:
        return ""
    before = one["before"]
    return (f"; {one['moved']:.2f} times the {float(before['median']):.2f} × of {before['date']} "
            f"({before['commit']})")


def reading(part):
    rows = [[name, figure(one["seconds"]["median"], ".3f"), figure(one["seconds"]["min"], ".3f"),
             figure(one["seconds"]["max"], ".3f"), str(one["rounds"]), figure(one["packets_per_s"]),
             figure(one["cpu_s"], ".2f"), figure(one["memory_mb"], ".1f")]
            for name, one in part["tools"].items()]
    heads = ["", "median s", "min", "max", "rounds", "packets/s", "processor s", "memory MB"]
    ratios = [f"{one['ours']} is {figure(one['median'], '.2f')} × {one['against']} "
              f"(from {figure(one['min'], '.2f')} to {figure(one['max'], '.2f')}); "
              f"{one['wanted']} × is wanted: {met(one['met'])}{moved(one)}" for one in part["ratios"]]
    memory = part["memory"]
    ratios.append(f"chokepoint took {memory['most_mb']:.1f} MB at most; less than "
                  f"{memory['wanted_mb']} MB is wanted: {met(memory['met'])}")
    about = f"{part['file']['packets']:,} packets, {part['file']['bytes']:,} bytes"
    return f"A file of {about}\n{table(heads, rows)}\n" + "\n".join(ratios) + "\n"


def flows(part):
    rows = [[f"{int(count):,}", figure(one["seconds"], ".3f"), figure(one["memory_mb"], ".1f")]
            for count, one in part["counts"].items()]
    return (f"Flows of a packet each\n{table(['flows', 'seconds', 'memory MB'], rows)}\n"
            f"a flow more is {part['bytes_per_flow']} bytes more, until the table is full\n")


def ratio(spread):
    return (f"{spread['median']:.2f} × tcpdump's (from {spread['min']:.2f} to "
            f"{spread['max']:.2f})")


def live(part):
    lines = []
    for name, one in part["parts"].items():
        rows = [[tool, figure(found["packets_per_s"]), figure(found["seen_per_s"]),
                 figure(found["dropped"]), figure(found["dropped_percent"], ".3f"),
                 figure(found["core_percent"], ".1f"), figure(found["running_percent"], ".1f"),
                 figure(found["memory_mb"], ".1f")]
                for tool, found in one["tools"].items()]
        heads = ["", "frames/s passed", "seen", "dropped", "%", "% of a core", "once set up",
                 "memory MB"]
        lines.append(f"Live: {name}\n{table(heads, rows)}\nprocessor time is "
                     f"{ratio(one['cpu_beside_tcpdump'])}, once set up "
                     f"{ratio(one['running_beside_tcpdump'])}\n")
    lines += [f"{what}: {met(is_met)}" for what, is_met in part["met"].items()]
    return "\n".join(lines) + "\n"


FORMS = {"reading": reading, "flows": flows, "live": live}


def tables(document):
    return "\n".join(FORMS[name](part) for name, part in document["parts"].items())
