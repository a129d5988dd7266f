"""What goes wrong around a watched job: each kind of fault sets up its place, strikes at a moment,
and says afterwards whether chokepoint met it.

A kind is a context manager that is given a Case and yields a Fault.
"""

import contextlib
import dataclasses
import os
import pathlib
import random
import shutil
import socket
import threading

import kernel
import plays
from watchers import FRONT, HELPER, RELAY, WATCH, kill, processes_of

MEBIBYTE = 1 << 20
CGROUPS = pathlib.Path("/sys/fs/cgroup/memory")
PAGE = 4096
# A run of a few seconds is charged with 6 MB and more here: what is mapped from files counts for
# whoever was first. Below 4 MB the kernel may end chokepoint before it has started the job.
EARLY_LIMITS = (4 * MEBIBYTE, 7 * MEBIBYTE)
# Under the cgroup's limit for the watcher; the job leaves it before it starts.
JOIN = 'echo $$ >"$0/cgroup.procs" || exit 1; exec "$@"'


@dataclasses.dataclass
class Case:
    lab: object
    stage: object
    chance: random.Random
    folder: pathlib.Path  # of this play alone


@dataclasses.dataclass
class Fault:
    strike: callable = lambda play: None
    relieve: callable = lambda: None  # once chokepoint has ended
    was_met: callable = lambda play: True
    out: pathlib.Path = None
    options: tuple = ()
    before: tuple = ()
    environment: dict = dataclasses.field(default_factory=dict)
    first: str = ""  # what the job's shell does before it starts the job
    needs_job: bool = False  # strikes once the job has started
    keeps_record: bool = True
    has_moment: bool = True  # the record has all that was there a second before the strike
    sees_output: bool = True
    ends_front: bool = False
    may_harm: bool = False  # documented: counted, and no complaint


def said(play, *words):
    told = play.processes["left"].stderr()
    return any(word in told for word in words)


@contextlib.contextmanager
def small_disk(folder, size):
    folder.mkdir()
    kernel.command("mount", "-t", "tmpfs", "-o", f"size={size}", "lab", folder)
    try:
        yield folder
    finally:
        with contextlib.suppress(kernel.Failed):
            kernel.command("umount", "-l", folder)


def fill(disk):
    with open(disk / "filler", "wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(4096))


@contextlib.contextmanager
def disk_full(case):
    """A disk that has room for all of the record until somebody else fills it."""
    with small_disk(case.folder / "disk", case.chance.randrange(6, 12) * MEBIBYTE) as disk:
        yield Fault(out=disk / "run", strike=lambda play: fill(disk),
                    was_met=lambda play: said(play, "space", "full"))


@contextlib.contextmanager
def loop_disk(folder):
    image, disk = folder / "image", folder / "freezing"
    disk.mkdir()
    with open(image, "wb") as file:
        file.truncate(32 * MEBIBYTE)
    kernel.command("mkfs.ext4", "-q", image)
    kernel.command("mount", "-o", "loop", image, disk)
    try:
        yield disk
    finally:
        thaw(disk)
        kernel.command("umount", "-l", disk)


@contextlib.contextmanager
def disk_frozen(case):
    """Its writers wait inside the kernel, until after chokepoint has ended or for 0.5 to 4 s."""
    with loop_disk(case.folder) as disk:
        for_s = case.chance.choice([None, case.chance.uniform(0.5, 4)])

        def freeze(play):
            kernel.command("fsfreeze", "-f", disk)
            if for_s:
                threading.Timer(for_s, thaw, [disk]).start()

        yield Fault(out=disk / "run", strike=freeze, relieve=lambda: thaw(disk))


def thaw(disk):
    with contextlib.suppress(kernel.Failed):
        kernel.command("fsfreeze", "-u", disk)


@contextlib.contextmanager
def folder_gone(case):
    """The record's folder is removed, or its disk is unmounted while it is written."""
    with small_disk(case.folder / "disk", 64 * MEBIBYTE) as disk:
        out = disk / "run"
        ways = (lambda play: shutil.rmtree(out, ignore_errors=True),
                lambda play: kernel.command("umount", "-l", disk))
        yield Fault(out=out, keeps_record=False, strike=case.chance.choice(ways))


@contextlib.contextmanager
def cgroup(case):
    """A cgroup of the memory controller, and a way to it that hosts have: their /sys is another."""
    if not (CGROUPS / "memory.limit_in_bytes").exists():
        raise kernel.Skipped("needs the memory controller of cgroup version 1")
    way = case.folder / "cgroups"
    way.mkdir()
    kernel.command("mount", "--bind", CGROUPS, way)
    group = way / f"lab-{os.getpid()}-{case.folder.name}"
    group.mkdir()
    try:
        yield way, group
    finally:
        with contextlib.suppress(OSError):
            for pid in (group / "cgroup.procs").read_text().split():
                os.kill(int(pid), 9)
        with contextlib.suppress(OSError):
            group.rmdir()
        kernel.command("umount", "-l", way)


@contextlib.contextmanager
def memory_limit(case):
    """Chokepoint's own processes have a limit: from the start on, or from a moment on no more than
    they have by then."""
    with cgroup(case) as (way, group):
        limit = group / "memory.limit_in_bytes"
        early = case.chance.random() < 0.5
        if early:
            limit.write_text(str(case.chance.randrange(*EARLY_LIMITS)))

        def strike(play):
            for room in () if early else range(0, 4 * MEBIBYTE, PAGE):
                with contextlib.suppress(OSError):
                    used = int((group / "memory.usage_in_bytes").read_text())
                    limit.write_text(str(used + room))
                    return

        # The kernel may end any of chokepoint's processes, at any time from the strike on; nobody but
        # the first of them can start the job.
        yield Fault(strike=strike, has_moment=False, ends_front=True, needs_job=not early,
                    before=("sh", "-c", JOIN, group), first=f"echo $$ >{way}/cgroup.procs; ",
                    was_met=lambda play: int((group / "memory.failcnt").read_text()) > 0)


@contextlib.contextmanager
def relay_killed(case):
    """The process that passes the job's output on, alone."""
    yield Fault(needs_job=True, strike=lambda play: struck(play, RELAY))


@contextlib.contextmanager
def all_killed_direct(case):
    """All that chokepoint has, where the job writes to its own output."""
    yield Fault(options=("--job-output", "direct"), sees_output=False, ends_front=True, needs_job=True,
                strike=lambda play: struck(play, FRONT, WATCH, HELPER, RELAY))


@contextlib.contextmanager
def all_killed(case):
    """Chokepoint and its relays at once: the job's next print finds nobody."""
    yield Fault(ends_front=True, needs_job=True, may_harm=True,
                strike=lambda play: struck(play, FRONT, WATCH, HELPER, RELAY))


def struck(play, *roles):
    there = processes_of(play.processes["left"].pid)
    return kill([pid for role in roles for pid in there.get(role, [])])


@contextlib.contextmanager
def clock_stepped(case):
    """The wall clock that chokepoint and the job see is set, forwards or back, once or more."""
    step = case.folder / "step"
    seconds = [case.chance.choice([-1, 1]) * 10 ** case.chance.uniform(0, 8)
               for _ in range(case.chance.randrange(1, 4))]

    def strike(play):
        for number, each in enumerate(seconds):
            threading.Timer(number * 0.3, set_to, [step, round(each)]).start()

    preload = plays.built("CHOKEPOINT_LAB_PRELOAD", "tests/lab/preload/lab_preload.so")
    yield Fault(strike=strike, was_met=lambda play: step.exists(),
                environment={"LD_PRELOAD": str(preload), "LAB_CLOCK_STEP_FILE": str(step)})


def set_to(step, seconds):
    with contextlib.suppress(FileNotFoundError):  # the play is over
        step.write_text(f"{seconds}\n")


@contextlib.contextmanager
def interface_removed(case):
    """One that is captured, and that the job does not use."""
    spare = spare_link(case.stage)

    captured = []

    def strike(play):
        captured.append(is_captured(spare.a))
        spare.a.host.ip("link", "delete", spare.a.interface)

    yield Fault(strike=strike, was_met=lambda play: any(captured))
    with contextlib.suppress(kernel.Failed):
        spare.a.host.ip("link", "delete", spare.a.interface)


def is_captured(end):
    """Whether a packet socket of the host is bound to the interface."""
    with end.host.entered():
        index = str(socket.if_nametoindex(end.interface))
        lines = pathlib.Path("/proc/thread-self/net/packet").read_text().splitlines()[1:]
    return any(line.split()[4] == index for line in lines)


def spare_link(stage):
    """A second veth pair; made again where an earlier play removed it."""
    made = getattr(stage, "spare", None)
    if made is None:
        stage.spare = stage.lab.link(*stage.hosts.values())
        return stage.spare
    made.a.host.ip("link", "add", made.a.interface, "netns", made.a.host.namespace, "type", "veth",
                   "peer", "name", made.b.interface, "netns", made.b.host.namespace)
    return made.address()


KINDS = {"disk full": disk_full, "disk frozen": disk_frozen, "folder gone": folder_gone,
         "memory limit": memory_limit, "relay killed": relay_killed,
         "all killed, direct output": all_killed_direct, "all killed": all_killed,
         "clock stepped": clock_stepped, "interface removed": interface_removed}
