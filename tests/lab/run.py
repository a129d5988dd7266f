#!/usr/bin/env python3
"""usage: run.py CHOKEPOINT FILE FUNCTION

Runs one test of a file in cases/: a function test_… that is given a lab and raises Failed where
something does not hold, or Skipped where this machine cannot tell. The hosts of the lab find the
built `chokepoint` before any other. Exit codes: 0 holds, 1 does not, 77 skipped.
"""

import importlib.util
import os
import pathlib
import sys
import tempfile

from lab import Failed, Lab, Skipped

SKIPPED = 77


def load(path):
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def with_lab(program, test):
    with tempfile.TemporaryDirectory(prefix="chokepoint-lab-bin-") as folder:
        os.symlink(os.path.abspath(program), f"{folder}/chokepoint")
        with Lab([folder]) as lab:
            test(lab)


def main(program, path, name):
    try:
        with_lab(program, getattr(load(path), name))
    except Skipped as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    except (Failed, AssertionError) as failure:
        print(f"{name}: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
