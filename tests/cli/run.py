#!/usr/bin/env python3
"""usage: run.py PROGRAM UNPACK FILE CASE

Runs one case of a file of cases: the built program as a user runs it. A case is a few lines, up to
an empty one:

  NAME      what is tested; unique in its file
  REQUIRES  root, or a program that must be there; else the case is skipped with the reason
  HOST      a fixture of tests/fixtures/hosts, unpacked where $HOST points
  RUN       a line for sh; `chokepoint` is the built program, $DIR an empty folder
  EXIT      the exit code (default 0)
  OUT, ERR  a text that must stand in standard output, or error; "-" for nothing at all
  NOT       a text that must not stand in standard output
  JSON      a Python expression over `d`, the document on standard output
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
SECONDS = 60
FIXTURES = pathlib.Path(__file__).parent.parent / "fixtures" / "hosts"


def cases(path):
    for block in pathlib.Path(path).read_text().split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        case = [tuple(line.split(" ", 1)) if " " in line else (line, "") for line in lines]
        if case:
            yield [(word, text.strip()) for word, text in case]


def missing(requirement):
    if requirement == "root":
        return None if os.geteuid() == 0 else "needs root"
    return None if shutil.which(requirement) else f"needs {requirement}"


def document(text):
    try:
        return json.loads(text)
    except ValueError as error:
        return f"no JSON document: {error}"


def failures(case, done):
    def holds(text, stream, name):
        if text == "-":
            return None if not stream else f"{name} should be empty"
        return None if text in stream else f"{name} lacks: {text}"

    wanted = int(next((text for word, text in case if word == "EXIT"), 0))
    if done.returncode != wanted:
        yield f"exit code {done.returncode} instead of {wanted}"
    for word, text in case:
        if word == "OUT":
            yield holds(text, done.stdout, "standard output")
        elif word == "ERR":
            yield holds(text, done.stderr, "standard error")
        elif word == "NOT" and text in done.stdout:
            yield f"standard output holds: {text}"
        elif word == "JSON":
            found = document(done.stdout)
            if isinstance(found, str):
                yield found
            elif not eval(text, {"d": found}):
                yield f"does not hold: {text}"


def run(case, program, unpack, folder):
    environment = dict(os.environ, DIR=f"{folder}/dir", PATH=f"{folder}/bin:{os.environ['PATH']}")
    os.makedirs(f"{folder}/dir")
    os.makedirs(f"{folder}/bin")
    os.symlink(os.path.abspath(program), f"{folder}/bin/chokepoint")
    for word, text in case:
        if word == "HOST":
            environment["HOST"] = f"{folder}/host"
            subprocess.run([unpack, FIXTURES / f"{text}.host", environment["HOST"]], check=True)
    line = next(text for word, text in case if word == "RUN")
    return subprocess.run(["sh", "-c", line], env=environment, stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=SECONDS, errors="replace")


def main(program, unpack, path, name):
    case = next((case for case in cases(path) if ("NAME", name) in case), None)
    if case is None:
        sys.exit(f"no case '{name}' in {path}")
    for word, text in case:
        if word == "REQUIRES" and missing(text):
            print(f"skipped: {missing(text)}")
            return SKIPPED
    with tempfile.TemporaryDirectory(prefix="chokepoint-cli-") as folder:
        done = run(case, program, unpack, folder)
    found = [failure for failure in failures(case, done) if failure]
    if found:
        print("\n".join(found))
        print(f"--- standard output\n{done.stdout}\n--- standard error\n{done.stderr}")
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
