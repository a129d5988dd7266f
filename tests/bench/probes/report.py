"""The figures as tables for people; the document has all of them."""


def figure(value, form=",.0f"):
    return "–" if value is None else format(value, form)


def table(heads, rows):
    cells = [heads, *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    lines = ["  ".join(cell.ljust(width) if place == 0 else cell.rjust(width)
                       for place, (cell, width) in enumerate(zip(row, widths))) for row in cells]
    return "\n".join(line.rstrip() for line in lines)


def verdict(ratio):
    if ratio is None:
        return "chokepoint was not measured"
    return (f"chokepoint is {figure(ratio['median'], '.2f')} × {ratio['against']} "
            f"(from {figure(ratio['min'], '.2f')} to {figure(ratio['max'], '.2f')}); "
            f"{ratio['wanted']} × is wanted: {'met' if ratio['met'] else 'not met'}")


def throughput(title, part):
    rows = [[name, figure(one["median"]), figure(one["min"]), figure(one["max"]),
             figure(one["busy_percent"]), figure(one["others_percent"])]
            for name, one in part["tools"].items()]
    heads = ["", "median", "min", "max", "machine busy %", "before by others %"]
    return (f"{title}\n{table(heads, rows)}\n"
            f"{verdict(part['ratio'])}\n")


def tcp(parts):
    return "\n".join(throughput(f"TCP, {part['streams']} stream(s), goodput in Mb/s", part)
                     for part in parts)


def udp(part):
    lines = [f"  {name} as fast as it goes: {figure(one['delivered_pps'])} packets/s delivered, "
             f"{figure(one['loss_percent'], '.1f')} % lost"
             for name, one in part["unlimited"].items()]
    title = f"UDP, {part['payload_bytes']} bytes, packets/s delivered at less than 0.1 % loss"
    return throughput(title, part) + "\n".join(lines) + "\n"


def burst(told):
    """In packets: sent in one call, and held by a token bucket of the rate that lets all pass."""
    told = told.get("burst")
    return f"{told['batch_packets']} / {told['bucket_packets']:.1f}" if told else "–"


def pacing(part):
    rows = [[name, figure(one["asked_mbps"]), figure(one["offered_mbps"], ",.3f"),
             figure(one["offered_off_percent"], "+.3f"), figure(one["delivered_mbps"], ",.3f"),
             figure(one["loss_percent"], ".3f"), burst(one["largest_burst"])]
            for name, rates in part["tools"].items() for one in rates]
    heads = ["", "asked Mb/s", "offered", "off %", "delivered", "loss %",
             "burst: call / bucket"]
    return (f"Pacing\n{table(heads, rows)}\nwithin {part['wanted_percent']} %: "
            f"{'met' if part['met'] else 'not met'}\n")


def accuracy(part):
    rows = [[name, figure(one["rate_mbps"]), figure(one["told_mbps"], ",.2f"),
             figure(one["truth_mbps"], ",.2f"), figure(one["midst_mbps"], ",.2f"),
             figure(one["off_percent"], "+.3f"),
             {True: "yes", False: "no", None: "–"}[one["ends"]["agree"]]]
            for name, rates in part["tools"].items() for one in rates]
    heads = ["", "bucket Mb/s", "told goodput", "truth", "in its midst", "off %",
             "ends agree on bytes"]
    return (f"Accuracy\n{table(heads, rows)}\nwithin {part['wanted_percent']} %, bytes agreed: "
            f"{'met' if part['met'] else 'not met'}\n")


FORMS = {"tcp": tcp, "udp": udp, "pacing": pacing, "accuracy": accuracy}


def tables(document):
    return "\n".join(FORMS[name](part) for name, part in document["parts"].items())
