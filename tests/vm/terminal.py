"""A command run in a machine by hand: with a terminal of its own where there is one here, else with
its output passed on. Meanwhile `on-NAME COMMAND…` in it runs something on another machine.
"""

import os
import select
import shlex
import shutil
import sys
import termios
import tty

TICK = 0.1
# What on-NAME is: it leaves the words in the shared folder, and waits there for the end.
ON_OTHER = """#!/bin/sh
asked=$(mktemp {asked}/{name}-XXXXXX)
for word in "$@"; do printf '%s\\0' "$word"; done >"$asked.words" && mv "$asked.words" "$asked.asked"
while [ ! -e "$asked.status" ]; do sleep 0.2; done
cat "$asked.out"
cat "$asked.err" >&2
exit "$(cat "$asked.status")"
"""


class Requests:
    """What programs of one machine ask to be run on others."""

    def __init__(self, share, others):
        self.folder, self.bin = share / "asked", share / "bin"
        self.others = {other.name: other for other in others}
        self.running = {}
        for made in (self.folder, self.bin):
            made.mkdir()
        for name in self.others:
            script = self.bin / f"on-{name}"
            script.write_text(ON_OTHER.format(asked=self.folder, name=name))
            script.chmod(0o755)

    def serve(self):
        for file in self.folder.glob("*.asked"):
            words = file.read_bytes().decode().split("\0")[:-1]
            self.running[file.with_suffix("")] = self.others[file.name.split("-")[0]].start(words)
            file.unlink()
        for asked, program in list(self.running.items()):
            if not program.running():
                shutil.copy(program.out, f"{asked}.out")
                shutil.copy(program.err, f"{asked}.err")
                (asked.parent / f"{asked.name}.new").write_text(f"{program.status}\n")
                (asked.parent / f"{asked.name}.new").rename(f"{asked}.status")
                del self.running[asked]


def run(machine, others, command, environment):
    """The command's exit status."""
    requests = Requests(machine.share, others)
    machine.path.append(requests.bin)
    if machine.terminal and sys.stdin.isatty():
        return interactive(machine, command, environment, requests)
    return passed_on(machine, command, environment, requests)


def passed_on(machine, command, environment, requests):
    program = machine.start(command, environment)
    shown = {program.out: 0, program.err: 0}
    is_over = False
    while not is_over:
        is_over = not program.running()
        for file, stream in ((program.out, sys.stdout), (program.err, sys.stderr)):
            if file.exists():
                shown[file] += stream.buffer.write(file.read_bytes()[shown[file]:])
                stream.flush()
        requests.serve()
        select.select([machine.agent], [], [], TICK)
    return program.status


def interactive(machine, command, environment, requests):
    size = shutil.get_terminal_size()
    inside = (f"exec </dev/hvc0 >/dev/hvc0 2>&1; stty sane rows {size.lines} cols {size.columns}; "
              f"exec {shlex.join(command)}")
    program = machine.start(["sh", "-c", inside], {
        "TERM": os.environ.get("TERM", "linux"), "HOME": "/root", **environment})
    before = termios.tcgetattr(sys.stdin)
    tty.setraw(sys.stdin)
    try:
        while program.running():
            relay(machine.terminal)
            requests.serve()
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
    return program.status


def relay(line):
    ready = select.select([sys.stdin, line], [], [], TICK)[0]
    if sys.stdin in ready:
        line.sendall(os.read(sys.stdin.fileno(), 4096))
    if line in ready:
        os.write(sys.stdout.fileno(), line.recv(65536))
