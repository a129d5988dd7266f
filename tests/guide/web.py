"""usage: web.py CHOKEPOINT WEB.md

Types the walk of docs/guide/web.md as a user without a history, and asks the page that it serves for
the hosts, the run and its report.
"""

import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

from history import BLOCK, COMMAND, SECONDS, User, Wrong

DOCTOR_FOUND = 3
SCHEMAS = re.compile(r"`(chokepoint web [^`]*--json)` (?:prints )?`(chokepoint\.\S+)`")


def started(user, command):
    """The page's server, and its address. The port of the page may be in use here."""
    server = subprocess.Popen(["bash", "-c", f"exec {command} --port 0"], cwd=user.home,
                              env=user.environment, stdout=subprocess.PIPE, text=True)
    address = server.stdout.readline().strip()
    if not re.fullmatch(r"http://127\.0\.0\.1:\d+/", address):
        raise Wrong(f"$ {command}\n{address}")
    return server, address


def fetched(address):
    try:
        with urllib.request.urlopen(address, timeout=SECONDS) as page:
            return page.read().decode()
    except urllib.error.HTTPError as error:
        raise Wrong(f"{address}: {error} {error.read().decode()}") from error


def look(address):
    """The host of the probes, and the run with its report."""
    if "<script" not in fetched(address):
        raise Wrong("no page is served")
    fleet = json.loads(fetched(f"{address}data/fleet"))
    [run] = json.loads(fetched(f"{address}data/runs"))["runs"]
    asked = urllib.parse.urlencode({"run": run["run"]})
    if not fleet["subjects"] or run["run"] != "chokepoint-runs/first":
        raise Wrong(f"the page shows {fleet['subjects']} and {run}")
    if "<!DOCTYPE html>" not in fetched(f"{address}report?{asked}"):
        raise Wrong("the run has no report")
    return fleet["subjects"][0]["subject"]


def walk(user, text):
    block = next(block for block in BLOCK.findall(text) if "chokepoint web\n" in block)
    doctor, run, web = COMMAND.findall(block)
    user.type(f"{doctor} || [ $? = {DOCTOR_FOUND} ]")
    user.type(run)
    server, address = started(user, web)
    try:
        host = look(address)
    finally:
        server.send_signal(signal.SIGINT)
    if server.wait(SECONDS) != 0:
        raise Wrong(f"Ctrl-C ended the page with {server.returncode}")
    for command, schema in SCHEMAS.findall(text):
        printed = json.loads(user.type(command.replace("SUBJECT", f"'{host}'")))
        if printed["schema"] != schema:
            raise Wrong(f"$ {command}\n{printed['schema']}")


def main():
    program, page = (pathlib.Path(each).resolve() for each in sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="chokepoint-guide-") as home:
        try:
            walk(User(program, pathlib.Path(home), None), page.read_text())
        except Wrong as wrong:
            print(wrong)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
