#!/usr/bin/env python3
"""Environment variables that `run` or the plugin in its job read, and that the table of
tests/cli/alone does not try: whoever starts a job may set them to anything.

A variable is what is named where an environment is asked, and any text in the sources that looks like
the name of one: capital letters with '_'. What looks so and is none stands in NO_VARIABLES.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/cli/alone"))

import environments  # noqa: E402

READ_BY_RUN = ("base", "capture", "main.cc")
ASKED = re.compile(r'(?:getenv|environment|variables|given|in_environment)\([^;"]*"([A-Z][A-Z0-9_]+)"')
LOOKS_SO = re.compile(r'"([A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9])"')
NO_VARIABLES = {
    "CAP_DAC_READ_SEARCH", "CAP_SYS_PTRACE",                             # rights, in messages
    "COLLNET_CHAIN", "COLLNET_DIRECT", "NVLS_TREE", "STATIC_PLUGIN",     # of NCCL
    "CHOKEPOINT_STALL_NODE", "CHOKEPOINT_STALL_PIDS", "CHOKEPOINT_STALL_RECORD",
    "CHOKEPOINT_STALL_SECONDS",                                          # written for a hook
}


def sources():
    for part in READ_BY_RUN:
        path = ROOT / part
        yield from ([path] if path.is_file() else
                    (each for each in path.rglob("*") if each.suffix in (".cc", ".h", ".def")))


def findings():
    known = set(environments.VARIABLES) | NO_VARIABLES
    found = set()
    for path in sources():
        for number, line in enumerate(path.read_text().splitlines(), 1):
            names = set(ASKED.findall(line)) | set(LOOKS_SO.findall(line))
            found |= names
            for name in sorted(names - known):
                yield (f"{path.relative_to(ROOT)}:{number}: {name}: add it to VARIABLES of "
                       "tests/cli/alone/environments.py, or to NO_VARIABLES here")
    for name in sorted(NO_VARIABLES - found):
        yield f"tests/lint/variables.py: {name} is in no source any more"


def main():
    found = list(findings())
    print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
