"""Plays one case: a kind of file at the place of a row, and its command. Each worker process plays
one case at a time and inherits what its commands leave behind, so that it sees all of it."""

import contextlib
import ctypes
import dataclasses
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import time

from kinds import Growth, Place

HANGS_S = 20       # killed then
MOST_WALL_S = 2.5  # more is looked at again, alone
MOST_CPU_S = 2.0
MOST_MEMORY_KB = 400 << 10
LEFT_BEHIND_S = 3  # in which what a command started has to end, too
WAITS_S = 0.7      # then Ctrl-C, where a command may wait
USER = 61234       # an ordinary user that owns nothing


@dataclasses.dataclass(frozen=True)
class Settings:
    program: str
    python: str
    templates: pathlib.Path
    cases: pathlib.Path
    sources: object
    patience: float


@dataclasses.dataclass
class Played:
    code: int
    err: str
    wall_s: float
    cpu_s: float
    memory_kb: int
    is_interrupted: bool


def inherit_orphans():
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children():
    """Of this process, by /proc: also those whose parents have ended."""
    own = str(os.getpid())
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError, IndexError), open(f"/proc/{entry}/stat") as file:
                name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
                if rest.split()[1] == own:
                    yield int(entry), name


def left_behind(patience):
    """The names of processes that outlive their command; they are ended here."""
    until = time.monotonic() + LEFT_BEHIND_S * patience
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
            if time.monotonic() < until:
                time.sleep(0.01)
                continue
            found = list(children())
            for pid, _ in found:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            return [name for _, name in found]
        return []


def contents_of(folder):
    """What lies outside, and must stay as it is."""
    return {path.relative_to(folder): path.read_bytes() if path.is_file() else None
            for path in folder.rglob("*")}


class Case:
    def __init__(self, row, kind, settings):
        self.row, self.kind, self.settings = row, kind, settings
        self.folder = settings.cases / f"{os.getpid()}-{time.monotonic_ns()}"
        self.work, self.outside = self.folder / "work", self.folder / "outside"
        self.temporary = self.folder / "tmp"
        self.is_ordinary = kind.wants_user and os.geteuid() == 0

    def prepare(self):
        for folder in (self.work, self.outside, self.temporary):
            folder.mkdir(parents=True)
        for name in {word.split("/")[0] for word in (*self.row.words(), self.row.place)}:
            template = self.settings.templates / name
            if name != "." and template.is_dir():
                shutil.copytree(template, self.work / name, symlinks=True)
        if self.is_ordinary:
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, USER, USER, follow_symlinks=False)

    def put(self):
        for path in list(self.places()):
            before = self.folder / "before"
            shutil.rmtree(before, ignore_errors=True)
            before.unlink(missing_ok=True)
            path.parent.mkdir(exist_ok=True)
            if path.exists():
                path.rename(before)
            shutil.rmtree(self.outside / "target", ignore_errors=True)
            (self.outside / "target").unlink(missing_ok=True)
            self.kind.put(Place(path, before, self.outside), self.settings.sources)
            if self.kind.name == "unreadable" and self.is_ordinary:
                os.chown(path, USER, USER)

    def places(self):
        place = self.row.place
        if place.startswith("TMPDIR/"):
            yield self.temporary / place.removeprefix("TMPDIR/")
        elif place.endswith("/*"):
            yield from (path for path in sorted((self.work / place[:-2]).rglob("*"))
                        if path.is_file() and not path.is_symlink())
        else:
            yield self.work / place

    def command(self):
        words = self.row.words()
        if words[0] == "PYTHON":
            return [self.settings.python, "-c",
                    "import sys; sys.path.insert(0, sys.argv[1]); import chokepoint.record as record\n"
                    "try:\n  [each.close() for each in map(lambda file: record.Record(file, 1000000), "
                    "record.record_files(sys.argv[2]))]\n"
                    "except record.RecordError as error: sys.exit(f'chokepoint: {error}')",
                    str(self.settings.templates / "package"), *words[1:]]
        return [self.settings.program, *words]

    def play(self):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.work), "LC_ALL": "C.UTF-8",
                       "TMPDIR": str(self.temporary), **dict(self.row.environment)}
        user = {"user": USER, "group": USER, "extra_groups": []} if self.is_ordinary else {}
        grows = Growth(self.work / self.row.place) if self.kind.name == "growing file" \
            else contextlib.nullcontext()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with grows, open(self.folder / "err", "w+b") as err:
            started = time.monotonic()
            process = subprocess.Popen(self.command(), cwd=self.work, env=environment, stderr=err,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       start_new_session=True, **user)
            memory, is_interrupted = self.wait(process)
            wall = time.monotonic() - started
            err.seek(0)
            text = err.read(1 << 20).decode(errors="replace")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return Played(process.returncode, text, wall,
                      after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
                      memory, is_interrupted)

    def wait(self, process):
        """Ends the process in the end. Returns its peak memory, and whether Ctrl-C was needed."""
        may_wait = self.kind.name in self.row.may_wait
        memory, interrupted_at = 0, None
        started = time.monotonic()
        while process.poll() is None:
            with contextlib.suppress(OSError), open(f"/proc/{process.pid}/status") as file:
                memory = max(memory, *(int(line.split()[1]) for line in file if line.startswith("VmHWM")), 0)
            age = time.monotonic() - started
            if may_wait and interrupted_at is None and age > WAITS_S:
                process.send_signal(signal.SIGINT)
                interrupted_at = age
            if age > HANGS_S * self.settings.patience:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            time.sleep(min(0.02, max(0.001, age / 10)))
        return memory, interrupted_at is not None

    def failures(self):
        """Everything that is wrong with how the command met this kind of file."""
        self.prepare()
        self.put()
        outside = contents_of(self.outside)
        temporary = sorted(os.listdir(self.temporary))
        played = self.play()
        yield from self.faults_of_time(played)
        yield from self.faults_of_end(played)
        remaining = left_behind(self.settings.patience)
        if remaining:
            yield f"left running: {', '.join(remaining)}"
        if sorted(os.listdir(self.temporary)) != temporary:
            yield f"left in TMPDIR: {', '.join(os.listdir(self.temporary))}"
        parts = [path.name for path in self.work.rglob("*.part")
                 if path.name != pathlib.Path(self.row.place).name]
        if parts:
            yield f"left unfinished: {', '.join(parts)}"
        is_named = self.row.how == "written" or self.row.is_folder or self.row.follows
        may_follow = is_named and self.kind.name == "link out of the folder"
        if not may_follow and contents_of(self.outside) != outside:
            yield "wrote through a link out of the folder"

    def faults_of_time(self, played):
        patience = self.settings.patience
        if played.wall_s > HANGS_S * patience:
            yield f"hangs: was killed after {HANGS_S * patience:.0f} s"
        elif played.wall_s - (WAITS_S if played.is_interrupted else 0) > MOST_WALL_S * patience:
            yield f"slow: took {played.wall_s:.1f} s"
        if played.cpu_s > MOST_CPU_S * patience:
            yield f"slow: computed for {played.cpu_s:.1f} s"
        if played.memory_kb > MOST_MEMORY_KB * patience:
            yield f"took {played.memory_kb >> 10} MB of memory"

    def faults_of_end(self, played):
        if played.wall_s > HANGS_S * self.settings.patience:
            return
        said = played.err.strip()[-300:]
        if played.is_interrupted:
            if played.code not in (130, -signal.SIGINT):
                yield f"exit code {played.code} after Ctrl-C: {said}"
            return
        if played.code < 0:
            yield f"died of signal {-played.code}: {said}"
        elif played.code not in (0, 1, 2, 3):
            yield f"exit code {played.code}: {said}"
        if "internal error" in played.err or "terminate called" in played.err:
            yield f"an internal error: {said}"
        if self.must_fail() and played.code not in (1, 2):
            yield f"exit code {played.code} instead of a failure: {said}"
        name = pathlib.Path(self.row.place).name
        if self.row.how in ("given", "written") and played.code in (1, 2) and self.must_name() \
                and name not in played.err:
            yield f"does not name {self.row.place}: {said}"

    def must_fail(self):
        if self.row.how != "given":
            return False
        return not (self.kind.is_good or self.kind.name in self.row.may_use
                    or self.row.is_folder and self.kind.name == "folder")

    def must_name(self):
        return self.row.how == "written" or self.must_fail()

    def end(self):
        for path, folders, _ in os.walk(self.folder):
            for name in folders:
                with contextlib.suppress(OSError):
                    os.chmod(os.path.join(path, name), 0o755, follow_symlinks=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def play(row, kind, settings):
    case = Case(row, kind, settings)
    try:
        return list(case.failures())
    finally:
        case.end()
