#!/usr/bin/env python3
"""usage: check_rows.py ROWS PAGE…

The checks of doctor and preflight as `chokepoint explain` tells them, from the tables of their
pages: each row is {id, command, section, passes, otherwise} of a C++ initialiser. A table of checks
is one whose first column is headed 'check'.
"""

import json
import pathlib
import re
import sys

COMMANDS = {"doctor": "doctor", "preflight-checks": "preflight"}
ID = re.compile(r"`([a-z]+\.[a-z0-9-]+)`")


def plain(text):
    """Markdown as words."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"[`*]", "", text).strip()


def rows(page):
    section, titles = "", None
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = plain(line[3:])
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line[:1] == "|" else None
        if cells is None or set(line) <= set("|-: "):
            titles = titles if cells is not None else None
        elif titles is None:
            titles = [cell.strip() for cell in line.strip("|").split("|")]
        elif titles[0] == "check":
            told = dict(zip(titles, cells))
            for name in ID.findall(told["check"]):
                yield [name, COMMANDS[page.stem], section, plain(told.get("PASS", "")),
                       plain(told.get("otherwise", told.get("shows", "")))]


def main():
    written, *pages = map(pathlib.Path, sys.argv[1:])
    written.parent.mkdir(exist_ok=True)
    written.write_text("".join(
        "{" + ", ".join(json.dumps(cell, ensure_ascii=False) for cell in row) + "},\n"
        for page in pages for row in rows(page)), encoding="utf-8")


if __name__ == "__main__":
    main()
