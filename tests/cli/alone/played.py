"""A job in an environment, by itself or below `chokepoint run`, and what was seen of it."""

import contextlib
import dataclasses
import fcntl
import os
import pty
import re
import selectors
import signal
import socket
import time
import traceback

SECONDS = 40
REPORT = 9  # the job's descriptor for what it finds
OTHER = 7   # one that has nothing to do with chokepoint
INPUT = bytes(range(256)) * 40
NOT_STARTED = 99
SHOWN = 10  # differences of a row

# Lines of chokepoint's own on standard error, in between what the job prints: its errors, and its
# summary.
OWN_LINES = re.compile(rb"chokepoint: [^\n]*\n|^  (?:steps|not seen|watching|record|verdict|next|"
                       rb"stalls?|ranks?|packets|network) .*\n", re.MULTILINE)
# The loader's, which speaks for every program that is started.
LOADER_LINES = re.compile(rb"^ERROR: ld\.so: .*\n", re.MULTILINE)
# Of the job's variables; docs/reference/environment.md.
SET_BY_CHOKEPOINT = ("CHOKEPOINT_RUN", "CHOKEPOINT_MARKS", "NCCL_PROFILER_PLUGIN", "CHOKEPOINT_NCCL",
                     "CHOKEPOINT_NCCL_NEXT")


@dataclasses.dataclass
class Seen:
    status: int = None  # as a shell has it
    out: bytes = None   # None: not to be read
    err: bytes = None
    report: list = ()
    seconds: float = 0

    def own_lines(self):
        return b"".join(OWN_LINES.findall(self.err or b"")).decode(errors="replace")


class Streams:
    """The standard streams of a row. In the child, `place` puts them where they belong."""

    def __init__(self, kinds, folder):
        self.kinds = {"in": "file", "out": "pipe", "err": "pipe", **kinds}
        self.folder = folder
        self.ours = {}    # what this process reads
        self.theirs = {}  # what the child gets
        self.rest = []    # kept open until the end
        for name, kind in self.kinds.items():
            getattr(self, "open_" + kind.replace(" ", "_"))(name)

    def open_file(self, name):
        path = self.folder / f"standard-{name}"
        if name == "in":
            path.write_bytes(INPUT)
            self.theirs[name] = os.open(path, os.O_RDONLY)
        else:
            self.theirs[name] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)

    def open_pipe(self, name):
        self.ours[name], self.theirs[name] = os.pipe()
        if name == "in":
            self.ours[name], self.theirs[name] = self.theirs[name], self.ours[name]
            os.write(self.ours[name], INPUT)
            os.close(self.ours.pop(name))

    def open_nonblocking(self, name):
        self.open_pipe(name)
        # With room for all of it: what the job does where there is none is a matter of time.
        fcntl.fcntl(self.theirs[name], fcntl.F_SETPIPE_SZ, 1 << 20)
        os.set_blocking(self.theirs[name], False)

    def open_socket(self, name):
        ours, theirs = socket.socketpair()
        self.ours[name], self.theirs[name] = ours.detach(), theirs.detach()

    def open_terminal(self, name):
        self.ours[name], self.theirs[name] = pty.openpty()

    def open_dead_terminal(self, name):
        ours, self.theirs[name] = pty.openpty()
        os.close(ours)

    def open_broken(self, name):
        reader, self.theirs[name] = os.pipe()
        os.close(reader)

    def open_closed(self, name):
        self.theirs[name] = None

    def open_null(self, name):
        self.theirs[name] = os.open("/dev/null", os.O_RDWR)

    def open_read_only(self, name):
        self.theirs[name] = os.open("/dev/null", os.O_RDONLY)

    def open_full(self, name):
        self.theirs[name] = os.open("/dev/full", os.O_RDWR)

    def open_folder(self, name):
        self.theirs[name] = os.open(self.folder, os.O_RDONLY)

    def open_path(self, name):
        self.theirs[name] = os.open(self.folder, os.O_PATH)

    def open_same(self, name):
        self.theirs[name] = os.dup(self.theirs["out"])

    def place(self):
        """In the child: to 0, 1 and 2."""
        high = {name: None if fd is None else fcntl.fcntl(fd, fcntl.F_DUPFD, 100)
                for name, fd in self.theirs.items()}
        for number, name in enumerate(("in", "out", "err")):
            if high[name] is None:
                with contextlib.suppress(OSError):
                    os.close(number)
            else:
                os.dup2(high[name], number)

    def close_theirs(self):
        for fd in self.theirs.values():
            if fd is not None:
                os.close(fd)


def become(row, words, streams, report, folder):
    """The child, until it is the program."""
    try:
        other = os.open(folder / "other", os.O_RDWR | os.O_CREAT)
        os.write(other, b"as it was")
        report = fcntl.fcntl(report, fcntl.F_DUPFD, 100)
        other = fcntl.fcntl(other, fcntl.F_DUPFD, 100)
        streams.place()
        os.dup2(report, REPORT)
        os.dup2(other, OTHER)
        kept = {REPORT, OTHER}
        for fd in os.listdir("/proc/self/fd"):
            if int(fd) > 2 and int(fd) not in kept:
                with contextlib.suppress(OSError):
                    os.close(int(fd))
        os.setsid()
        os.chdir(folder)
        environment = row.environment()
        for number in range(1, signal.NSIG):
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
        if row.setup:
            row.setup(folder)
        os.execve(words[0], words, environment)
    except BaseException:
        with contextlib.suppress(OSError):
            os.write(REPORT, ("not started: " + traceback.format_exc()).encode())
    os._exit(NOT_STARTED)


class Reader:
    """Reads several descriptors to their ends, and sends signals when the job asks for the next."""

    def __init__(self, pid, fds, signals, is_answered):
        self.pid = pid
        self.is_answered = is_answered
        self.read = {name: b"" for name in fds}
        self.signals = list(signals)
        self.answered = 0
        self.selector = selectors.DefaultSelector()
        for name, fd in fds.items():
            self.selector.register(fd, selectors.EVENT_READ, name)

    def run(self, until):
        while self.selector.get_map():
            left = until - time.monotonic()
            if left <= 0:
                return False
            for key, _ in self.selector.select(left):
                self.take(key)
        return True

    def take(self, key):
        try:
            got = os.read(key.fd, 1 << 16)
        except OSError:
            got = b""
        if not got:
            self.selector.unregister(key.fileobj)
            os.close(key.fd)
        self.read[key.data] += got
        if key.data == "report":
            self.send_next()

    def send_next(self):
        answers = len(re.findall(rb"^(?:ready|got \d+)\n", self.read["report"], re.MULTILINE))
        if answers > self.answered and self.signals:
            self.answered = answers
            os.kill(self.pid, self.signals.pop(0))
            if not self.is_answered:
                while self.signals:
                    time.sleep(0.02)
                    os.kill(self.pid, self.signals.pop(0))


def session_of(leader):
    """The job is in it, too, but not in its leader's process group."""
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and os.getsid(int(name)) == leader:
                yield int(name)


def wait_for(pid, until):
    while True:
        got, status = os.waitpid(pid, os.WNOHANG)
        if got:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if time.monotonic() > until:
            for member in session_of(pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(member, signal.SIGKILL)
            os.waitpid(pid, 0)
            return None
        time.sleep(0.005)


def lines_of(report):
    lines = report.decode(errors="replace").splitlines()
    return [line for line in lines
            if not line.startswith(tuple(f"variable {name}=" for name in SET_BY_CHOKEPOINT))]


def play(row, words, folder):
    streams = Streams(row.streams, folder)
    report, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        become(row, words, streams, theirs, folder)
    os.close(theirs)
    streams.close_theirs()
    began = time.monotonic()
    until = began + SECONDS
    reader = Reader(pid, {**streams.ours, "report": report}, row.signals, row.end == "wait")
    whole = reader.run(until)
    status = wait_for(pid, until if whole else time.monotonic())
    seen = Seen(status=status, seconds=time.monotonic() - began, report=lines_of(reader.read["report"]))
    for name, kind in streams.kinds.items():
        if name != "in" and kind == "file":
            reader.read[name] = (folder / f"standard-{name}").read_bytes()
    seen.out, seen.err = reader.read.get("out"), reader.read.get("err")
    return seen


def without_others(bytes_):
    return None if bytes_ is None else LOADER_LINES.sub(b"", OWN_LINES.sub(b"", bytes_))


def where_they_part(one, other):
    if one is None or other is None:
        return f"{one!r:.200} instead of {other!r:.200}"
    at = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
    return (f"{len(one)} bytes instead of {len(other)}, they part at {at}: "
            f"{one[max(at - 8, 0):at + 120]!r} instead of {other[max(at - 8, 0):at + 24]!r}")


def differences(alone, watched, unlike, is_followed=False):
    """Between a job alone and the same one watched. `unlike`: beginnings of lines that may differ.
    `is_followed`: chokepoint prints a diagnosis after the job's end."""
    if watched.status is None:
        yield f"it had not ended after {SECONDS} s"
    elif watched.status != alone.status:
        yield f"status {watched.status} instead of {alone.status}"
    for name in ("out", "err"):
        one, other = (without_others(getattr(each, name)) for each in (watched, alone))
        if name == "err" and is_followed and one and other:
            one = one[:len(other)]  # a diagnosis follows
        if one != other:
            yield f"standard {name}: {where_they_part(one, other)}"
    known = tuple(unlike)
    one, other = ([line for line in each.report if not (known and line.startswith(known))]
                  for each in (watched, alone))
    if one == other:
        return
    if not one:
        yield "the job has not started"
        return
    parts = [f"the job says '{line}'" for line in one if line not in other]
    parts += [f"the job does not say '{line}'" for line in other if line not in one]
    yield from parts[:SHOWN] or ["the job says the same in another order"]
