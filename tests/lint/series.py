#!/usr/bin/env python3
"""Every series of base/record/series.def is sampled, told of in docs/internals/run-counters.md, and of
use: drawn, exported or read, or its row says why not yet.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROW = re.compile(r'^SERIES\((k\w+), "([^"]+)",(.*?)\)\n(?=\n|SERIES|//|FAMILY)', re.DOTALL | re.MULTILINE)
# Drivers' own names have a common one behind the prefix.
COMMON_NAMES = {"nic.": "base/host/nic_statistics.cc", "rdma.": "base/host/rdma_counters.cc"}


def text_of(*folders):
    return "\n".join(path.read_text() for folder in folders
                     for path in sorted((ROOT / folder).rglob("*"))
                     if path.suffix in (".cc", ".h"))


def is_sampled(constant, name, samplers):
    if re.search(rf"\b{constant}\b", samplers):
        return True
    return any(name.startswith(prefix)
               and f'"{name.removeprefix(prefix)}"' in (ROOT / path).read_text()
               for prefix, path in COMMON_NAMES.items())


def undescribed(rows):
    """Common names of NIC statistics without a row: their samplers have their units from there."""
    names = {name for _, name, _ in rows}
    common = set(re.findall(r'\{"(\w+)", \d\}', (ROOT / COMMON_NAMES["nic."]).read_text()))
    return (f"nic.{name}: has no row" for name in sorted(common) if f"nic.{name}" not in names)


def faults(rows, samplers, readers, docs):
    """What is wrong with a row, a line each."""
    yield from undescribed(rows)
    for constant, name, rest in rows:
        if not is_sampled(constant, name, samplers):
            yield f"{name}: no sampler writes it"
        if f"`{name}`" not in docs and f"`{name.removeprefix('rdma.')}`" not in docs:
            yield f"{name}: docs/internals/run-counters.md does not mention it"
        is_used = (".track" in rest or ".metric" in rest
                   or re.search(rf"\b{constant}\b", readers) is not None)
        if is_used and ".later" in rest:
            yield f"{name}: .later, but it is drawn, exported or read"
        if not is_used and ".later" not in rest:
            yield f"{name}: neither drawn nor exported nor read, and .later does not say why"


def main():
    table = (ROOT / "base/record/series.def").read_text()
    rows = ROW.findall(table)
    if len(rows) != len(re.findall(r"^SERIES\(", table, re.MULTILINE)):
        print("series.def: a row that cannot be read")
        return 1
    found = list(faults(rows, text_of("capture"), text_of("analysis"),
                        (ROOT / "docs/internals/run-counters.md").read_text()))
    print("\n".join(found) or f"{len(rows)} series")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
