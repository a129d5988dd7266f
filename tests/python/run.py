#!/usr/bin/env python3
"""usage: run.py CHOKEPOINT TEST [MODULE…]

Runs one of the tests beside it by a Python that has these modules: this one, or the system's where
another one comes first. Skipped where none has them.
"""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "python"
NAMES = {"torch": "python3-torch", "pandas": "python3-pandas", "nbclient": "python3-nbclient",
         "ipykernel": "python3-ipykernel", "matplotlib": "python3-matplotlib"}


def has(python, modules):
    look = "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, sys.argv[1:])))"
    try:
        return subprocess.run([python, "-c", look, *modules],
                              stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def main():
    chokepoint, test, *modules = sys.argv[1:]
    for python in (sys.executable, "/usr/bin/python3"):
        if has(python, modules):
            environment = {**os.environ, "PYTHONPATH": str(PACKAGE),
                           "PYTHONDONTWRITEBYTECODE": "1",
                           "CHOKEPOINT_PROGRAM": os.path.abspath(chokepoint)}
            environment.pop("CHOKEPOINT_MARKS", None)
            os.execve(python, [python, str(HERE / test)], environment)
    missing = " or ".join(NAMES.get(module, module) for module in modules)
    print(f"skipped: {missing} is missing: ./scripts/setup installs it")
    return 77


if __name__ == "__main__":
    sys.exit(main())
