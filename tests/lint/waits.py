#!/usr/bin/env python3
"""Every call that may block in the process that is a job's parent has a row in the table of
docs/internals/run-job.md, 'What the job's parent waits for': its bound, and what ends it early.

A new call there fails here until its row says how long it may hold the job's end. Calls that never
block for long (kill, fcntl, waitid with WNOHANG …) are not looked for.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/internals/run-job.md"
HEADING = "## What the job's parent waits for"
# Sources of that process alone, and classes and functions of it beside another process's.
WHOLE = ["capture/commands/job_parent.cc", "capture/commands/run.cc", "capture/job/attached.cc",
         "capture/job/direct_start.cc", "capture/job/job.cc", "capture/job/message_output.cc",
         "capture/job/held_signals.cc", "capture/job/signal_delivery.cc",
         "capture/live/follow_up.cc"]
CLASSES = {"capture/job/output.cc": ("Relay", "OutputWatch"),
           "capture/job/witness.cc": ("Witness",),
           "capture/run/watch_process.cc": ("WatchProcess",)}
CALLS = ("poll|ppoll|select|epoll_wait|waitpid|read|readv|recv|recvmsg|write|writev|"
         "send|sendmsg|accept|flock|fsync|sleep_for|sleep_until|join|"
         "wait|wait_for|opened|receive_by|wait_until|supervise|capture_output|resolve|resolve_within|getaddrinfo|"
         "record_files|is_being_written|is_directory|is_regular_file|canonical|proximate|"
         "absolute|status|last_write_time|file_size|create_directories|remove_all")
CALL = re.compile(rf"(?<![\w:])(?:\w+(?:::|\.|->))*({CALLS})\(")
DEFINITION = re.compile(r"^[\w].*?\b(?:(\w+)::~?)?(\w+)\(")
OWN_FUNCTION = re.compile(rf"^(?=\w)[\w:<>,&* \[\]]+ ({CALLS})\(")
ROW = re.compile(r"^\| `([\w/]+\.cc)` \| (.+?) \|")


def code_lines(text):
    for line in text.splitlines():
        yield re.sub(r'"(?:[^"\\]|\\.)*"', '""', line.split("//")[0])


def calls_in(source):
    """The names of what is called and may block."""
    classes = CLASSES.get(source)
    found, is_inside = set(), classes is None
    for line in code_lines((ROOT / source).read_text()):
        definition = DEFINITION.match(line)
        if classes and definition:
            is_inside = bool({*definition.groups()} & {*classes})
        if is_inside and not OWN_FUNCTION.match(line):
            # "(… -1, WNOHANG)" and the like do not wait.
            found |= {name for name in CALL.findall(line) if ", WNOHANG)" not in line}
        if classes and line.startswith("}"):
            is_inside = False
    return found


def rows_of(page):
    section = page.partition(HEADING)[2].partition("\n## ")[0]
    for line in section.splitlines():
        if row := ROW.match(line):
            for name in re.findall(r"`(\w+)`", row.group(2)):
                yield row.group(1), name


def main():
    listed = set(rows_of(PAGE.read_text()))
    there = {(source, name) for source in [*WHOLE, *CLASSES] for name in calls_in(source)}
    faults = [f"{source}: {name}() may block, and has no row" for source, name in sorted(there - listed)]
    faults += [f"{source}: {name}() has a row, and is not there" for source, name in sorted(listed - there)]
    print("\n".join(faults) or f"{len(there)} calls that may block")
    if faults:
        print(f"see {PAGE.relative_to(ROOT)}, {HEADING.removeprefix('## ')!r}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
