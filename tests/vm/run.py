#!/usr/bin/env python3
"""usage: run.py CHOKEPOINT FILE [FUNCTION]

Runs the tests of a file in cases/: functions test_… that raise Failed where something does not hold,
or Skipped where this machine cannot tell. What a function is given goes by the name of its parameter:
`pair` is two machines on a wire, `alone` a single one, each booted once a file; `machines` makes
others. They find the built `chokepoint` before any other. Exit codes: 0 holds, 1 does not, 77 skipped.
"""

import importlib.util
import inspect
import os
import pathlib
import sys
import time
import traceback

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "lab"))

from kernel import Failed, Skipped  # noqa: E402
from pair import Machines  # noqa: E402

SKIPPED = 77


def load(path):
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Given:
    """What functions ask for by name, made when the first one does."""

    def __init__(self, machines):
        self.made = {"machines": machines}
        self.machines = machines

    def to(self, test):
        return [self.by(name) for name in inspect.signature(test).parameters]

    def by(self, name):
        if name not in self.made:
            self.made[name] = {"pair": self.machines.pair, "alone": self.machines.alone}[name]()
        return self.made[name]


def outcome(test, given):
    began = time.monotonic()
    try:
        test(*given.to(test))
        status, said = "ok", f"{time.monotonic() - began:.1f} s"
    except Skipped as reason:
        status, said = "skipped", str(reason)
    except Exception as failure:  # one test's mistake is not the others'
        status, said = "FAILED", str(failure) if isinstance(failure, Failed) else (
            traceback.format_exc())
    print(f"{status}: {test.__name__}: {said}", flush=True)
    return status


def main(program, path, wanted=None):
    module = load(path)
    tests = [test for name, test in vars(module).items()
             if name.startswith("test_") and wanted in (None, name)]
    try:
        with Machines() as machines:
            (machines.folder / "bin").mkdir()
            os.symlink(os.path.abspath(program), machines.folder / "bin" / "chokepoint")
            machines.programs.append(str(machines.folder / "bin"))
            given = Given(machines)
            outcomes = {outcome(test, given) for test in tests}
    except Skipped as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    if "FAILED" in outcomes or not outcomes:
        return 1
    return SKIPPED if outcomes == {"skipped"} else 0


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
