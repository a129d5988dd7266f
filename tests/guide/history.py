"""usage: history.py CHOKEPOINT HISTORY.md

Types every command of docs/guide/history.md as a user without a history, whose tests and runs are
made here: a path that became slower when its first host got another driver, one that did not, and a
job. What the page says is printed must be printed, but for the time. The part about a
server is typed where there is one of PostgreSQL.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(TREE / "tests" / "base" / "history"))
import postgres_server  # noqa: E402

SECONDS = 60
FOUND = 3
HOUR_S = 3600
GOOD, BAD = 30, 20
BLOCK = re.compile(r"^```\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:\$ )?((?:chokepoint|createdb|psql|echo) .*)$", re.MULTILINE)
INLINE = re.compile(r"`(chokepoint history (?:export|prune) [^`]+)`")
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
# Another place in the page than here.
PACKAGED, SERVER = "/usr/share/chokepoint/postgresql", "@db/"
TRAIN = """
import time
for step in range(20):
    print("step", step, "loss", 1.0, flush=True)
    time.sleep(0.02)
"""


class Wrong(Exception):
    pass


def document(hours_ago, source, destination, rate, driver):
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - hours_ago * HOUR_S))
    return {"schema": "chokepoint.probe.tcp/1", "host": source, "started_at": at,
            "peer": {"host": destination}, "direction": "send", "streams": 1,
            "throughput_mbps": rate, "host_facts": {"own": {"gpu": {"driver": driver}}}}


class User:
    """Whose home is a temporary folder, in which all is typed."""

    def __init__(self, program, home, server):
        self.home, self.server = home, server
        self.environment = {
            **{name: value for name, value in os.environ.items()
               if not name.startswith(("XDG_", "CHOKEPOINT_"))},
            "HOME": str(home), "PATH": f"{program.parent}:{os.environ['PATH']}", "COLUMNS": "100",
            "PGOPTIONS": "-c client_min_messages=warning"}
        if server:
            self.environment |= {"PGHOST": str(server.folder), "PGUSER": "owner"}

    def make_what_is_there(self):
        (self.home / ".config").mkdir()
        for number in range(GOOD + BAD):
            is_good = number < GOOD
            for name, made in (
                    ("slower", ("a", "b", (940 if is_good else 600) + number % 5,
                                "550" if is_good else "570")),
                    ("same", ("gpu3", "gpu4", 940 + number % 5, "550"))):
                (self.home / f"tcp-{name}-{number}.json").write_text(
                    json.dumps(document(GOOD + BAD - number, *made)))
        (self.home / "train.py").write_text(TRAIN)
        self.type("chokepoint run --no-history --quiet -- python3 train.py")

    def type(self, command, status=0):
        if self.server:
            command = command.replace(PACKAGED, str(postgres_server.PACKAGED))
            command = command.replace(SERVER, "@/")
        done = subprocess.run(["bash", "-c", command], cwd=self.home, env=self.environment,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=SECONDS)
        if done.returncode != status:
            raise Wrong(f"$ {command}\nexit status {done.returncode}:\n{done.stdout}")
        return done.stdout


def words(text):
    """Without line ends and times."""
    return " ".join(TIME.sub("TIME", text).split())


def blocks_by_heading(text):
    """Of each part of the page its commands, and what is printed where the page says it."""
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading = part.partition("\n")[0]
        yield heading, [command.partition("  #")[0].strip()
                        for block in BLOCK.findall(part) for command in COMMAND.findall(block)]


def expected_output(text):
    [block] = [block for block in BLOCK.findall(text) if block.startswith("$ ")]
    return block.partition("\n")[2]


def check(told, *wanted):
    for each in wanted:
        if each not in words(told):
            raise Wrong(f"'{each}' is not in:\n{told}")


def walk(user, text):
    """How many commands were typed."""
    parts = dict(blocks_by_heading(text))
    [add] = parts["What is remembered"]
    check(user.type(add), "rows are new")
    check(user.type(add), "0 rows are new")
    [look] = parts["What changed"]
    check(user.type(look), words(expected_output(text)))
    host, path, job, everything = parts["One host, one path, one job"]
    check(user.type(host), "gpu3 > gpu4")
    check(user.type(path), "gpu3 > gpu4 throughput_mbps 50 ")
    check(user.type(job), "python3 train.py", "step_ms")
    check(user.type(everything), "a > b", "gpu3 > gpu4", "python3 train.py")
    [nightly] = parts["Every night"]
    check(user.type(nightly, FOUND), "a > b")
    user.type(nightly)
    export, prune = INLINE.findall(text)
    user.type(export)
    if "a > b,throughput_mbps" not in (user.home / "rows.csv").read_text():
        raise Wrong("rows.csv has no row of the path")
    check(user.type(prune), "0 rows removed")
    return 8 + (walk_to_server(user, parts["One history for many hosts"]) if user.server else 0)


def walk_to_server(user, commands):
    for command in commands:
        user.type(command)
    user.type("chokepoint probe storage --quiet --time 0.1 --bytes 1M .")
    rows = user.type("psql -At -d chokepoint -c 'SELECT count(*) FROM chokepoint.measured'")
    if int(rows) == 0:
        raise Wrong("the server has no rows")
    return len(commands)


def main():
    program, page = (pathlib.Path(each).resolve() for each in sys.argv[1:])
    server = None
    if postgres_server.programs() and shutil.which("psql"):
        server = postgres_server.PostgresServer()
    try:
        if server:
            server.start()
        with tempfile.TemporaryDirectory(prefix="chokepoint-guide-") as home:
            user = User(program, pathlib.Path(home), server)
            user.make_what_is_there()
            print(f"{walk(user, page.read_text())} commands, as the page says")
    except Wrong as wrong:
        print(wrong)
        return 1
    finally:
        if server:
            server.remove()
    return 0


if __name__ == "__main__":
    sys.exit(main())
