#!/usr/bin/env python3
"""What lies in a run's folder is opened by base/sys/regular_file.h alone: anything may lie there.

A stream, open(2) or copy_file waits for a FIFO, and follows a link.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("base/record", "measure/baseline", "analysis")
OPENS = re.compile(r"(?<![\w>])::open\(|[(=]\s*open\(|\b(?:openat|creat|fopen|gzopen)\(|"
                   r"\bcopy_file\(|\bstd::[io]?fstream\b")
# Each with its reason beside it.
EXCEPT = {
    "base/record/database.cc": "::open(path, flags)",  # a device for random numbers
    "analysis/commands/confirm.cc": "open(path.c_str(), O_RDONLY | O_DIRECTORY",  # the folder
}


def findings():
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix not in (".cc", ".h"):
                continue
            name = str(path.relative_to(ROOT))
            for number, line in enumerate(path.read_text().splitlines(), 1):
                code = line.split("//")[0]
                if OPENS.search(code) and EXCEPT.get(name, "\n") not in code:
                    yield f"{name}:{number}: open it by base/sys/regular_file.h"


def main():
    found = sorted(findings())
    print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
