#!/usr/bin/env python3
"""Every cause of analysis/attribution/causes.def has a function that finds it, a scenario of the lab or
a unit test in which it is found, and a line in docs/guide/reading-a-verdict.md.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = "docs/guide/reading-a-verdict.md"
ROW = re.compile(r'^CAUSE\((\w+), "([^"]+)"', re.MULTILINE)
COMPARED = re.compile(r"[!=]= Cause::\w+")
# These walk the table, or ask what is said of a cause: they show nothing of how it is found.
OF_WORDS = ("causes_test.cc", "advice_test.cc")


def text_of(paths):
    return "\n".join(path.read_text() for path in sorted(paths))


def faults(rows, finders, tests, scenarios, docs):
    """What is wrong with a row, a line each."""
    for enumerator, name in rows:
        named = re.compile(rf"\bCause::{enumerator}\b")
        if not named.search(finders):
            yield f"{name}: no function finds it"
        if f'cause = "{name}"' not in scenarios and not named.search(tests):
            yield f"{name}: neither a scenario nor a unit test yields it"
        if f"`{name}`" not in docs:
            yield f"{name}: {PAGE} does not mention it"


def main():
    attribution = ROOT / "analysis/attribution"
    rows = ROW.findall((attribution / "causes.def").read_text())
    finders = COMPARED.sub("", text_of(path for path in attribution.glob("*.cc")
                                       if path.name != "causes.cc"))
    tests = text_of(path for path in (ROOT / "tests/analysis/attribution").glob("*_test.cc")
                    if path.name not in OF_WORDS)
    scenarios = text_of((ROOT / "tests/lab/scenarios").glob("*.toml"))
    found = list(faults(rows, finders, tests, scenarios, (ROOT / PAGE).read_text()))
    if not rows:
        found.append("causes.def: no row that can be read")
    print("\n".join(found) or f"{len(rows)} causes")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
