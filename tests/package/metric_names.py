"""What `run --metrics` serves, by docs/reference/metrics.md."""

import pathlib
import re

METRICS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "metrics.md"


def documented_metrics():
    """Names of docs/reference/metrics.md. '…' stands for the beginning of the name before it."""
    names = set()
    for row in METRICS.read_text().splitlines():
        whole = ""
        for found in re.findall(r"`(chokepoint_\w+|…\w+)", row.split("|")[1] if "|" in row else ""):
            if found.startswith("…"):
                names |= {whole[:at + 1] + found[1:] for at, letter in enumerate(whole)
                          if letter == "_"}
            else:
                whole = found
                names.add(found)
    return names
