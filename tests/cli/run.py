#!/usr/bin/env python3
"""usage: run.py PROGRAM UNPACK FILE CASE

Runs one case of a file of cases: the built program as a user runs it. A case is a few lines, up to
an empty one:

  NAME      what is tested; unique in its file
  REQUIRES  root, or a program that must be there; else the case is skipped with the reason
  HOST      a fixture of tests/fixtures/hosts, unpacked where $HOST points
  SERVE     flags of a `chokepoint serve` that listens at $PORT before RUN begins, and ends with it
  RUN       a line for sh; `chokepoint` is the built program, $DIR an empty folder, $CAPTURES that
            of the captures among the fixtures, $DRIVERS that of made-up libraries of GPU drivers
  EXIT      the exit code (default 0)
  OUT, ERR  a text that must stand in standard output, or error; "-" for nothing at all
  NOT       a text that must not stand in standard output
  JSON      a Python expression over `d`, the document on standard output

A command that ends with 1 or 2 must write `chokepoint: …` to standard error and, where the case asks
for no OUT, NOT or JSON, nothing to standard output. Of a message the shortest stable part is asked
for, its subject: the flag, the path. Its sentence stands in the unit test of what makes it.
Standard output that is a document with a `schema` must be what docs/reference/schemas says of it.
"""

import contextlib
import json
import os
import pathlib
import random
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "reference"))

import schemas  # noqa: E402

SKIPPED = 77
SECONDS = 60
FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"


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
    if wanted in (1, 2) and not {"OUT", "NOT", "JSON"} & {word for word, _ in case}:
        yield holds("-", done.stdout, "standard output")
        yield holds("chokepoint: ", done.stderr, "standard error")
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
    found = document(done.stdout)
    if isinstance(found, dict) and "schema" in found:
        yield from schemas.faults(found)


def says_ready(listener, server):
    """True when the server has told the service manager's socket that it listens, False when it
    ended instead, as it does when the port is taken."""
    listener.settimeout(0.1)
    for _ in range(SECONDS * 10):
        with contextlib.suppress(TimeoutError):
            if b"READY=1" in listener.recv(4096):
                return True
        if server.poll() is not None:
            return False
    sys.exit("the server neither listens nor ends")


@contextlib.contextmanager
def served(flags, program, folder):
    """A server on a port below those the kernel hands to connections, so that none of them, and of
    the tests that run meanwhile, holds it."""
    ready = f"{folder}/ready"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(ready)
        for _ in range(20):
            port = random.randint(10000, 32000)
            server = subprocess.Popen([program, "serve", "-q", "--port", str(port), *shlex.split(flags)],
                                      env=dict(os.environ, NOTIFY_SOCKET=ready))
            try:
                if says_ready(listener, server):
                    yield port
                    return
            finally:
                server.send_signal(signal.SIGTERM)
                server.wait(SECONDS)
    sys.exit("no server could be started")


def run(case, program, unpack, folder):
    flags = next((text for word, text in case if word == "SERVE"), None)
    if flags is None:
        return run_beside(None, case, program, unpack, folder)
    with served(flags, program, folder) as port:
        return run_beside(port, case, program, unpack, folder)


def run_beside(port, case, program, unpack, folder):
    environment = dict(os.environ, DIR=f"{folder}/dir", PORT=str(port or ""),
                       CAPTURES=str(FIXTURES / "captures"),
                       DRIVERS=str(pathlib.Path(unpack).resolve().parent.parent / "fakes" / "drivers"),
                       PATH=f"{folder}/bin:{os.environ['PATH']}")
    os.makedirs(f"{folder}/dir")
    os.makedirs(f"{folder}/bin")
    os.symlink(os.path.abspath(program), f"{folder}/bin/chokepoint")
    for word, text in case:
        if word == "HOST":
            environment["HOST"] = f"{folder}/host"
            subprocess.run([unpack, FIXTURES / "hosts" / f"{text}.host", environment["HOST"]], check=True)
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
