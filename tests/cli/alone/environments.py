"""The table: environments that `chokepoint run` may be started in. A row is a job that is played in
it by itself, and below chokepoint."""

import dataclasses
import errno
import os
import resource
import signal

import kernel_calls as kernel


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    variables: dict = dataclasses.field(default_factory=dict)
    without: tuple = ()       # of the plain variables
    setup: object = None      # called with the row's folder in the child, last of all
    prepare: object = None    # called with the row's folder before either play
    options: tuple = ("-q",)  # of run
    out: str = "run"          # --out; None: the default
    end: str = "exit:7"       # how the job ends
    signals: tuple = ()       # sent to what was started, each when the job says it is ready for it
    streams: dict = dataclasses.field(default_factory=dict)
    needs: str = ""           # root
    unlike: tuple = ()        # beginnings of lines of the job's report that may differ

    def environment(self):
        plain = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": "/nowhere", "TERM": "dumb",
                 "ZETA": "last comes first", "ALPHA": "two\nlines"}
        for name in self.without:
            plain.pop(name)
        return {**{os.fsencode(name): os.fsencode(value) for name, value in plain.items()},
                **{os.fsencode(name): os.fsencode(value) for name, value in self.variables.items()}}


# ---- variables

# tests/lint/variables.py holds these against what the sources read.
NAMES_OF_RUN = ("SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT", "TORCHELASTIC_RUN_ID",
                "PMIX_NAMESPACE", "MASTER_ADDR", "MASTER_PORT")
RANKS = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
         "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK",
         "MV2_COMM_WORLD_SIZE", "PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", "PMIX_RANK",
         "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_JOB_NODELIST")
LIBRARIES = ("NCCL_IB_GID_INDEX", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME",
             "NCCL_PROFILER_PLUGIN", "CHOKEPOINT_NCCL", "CHOKEPOINT_NCCL_NEXT",
             "CHOKEPOINT_NCCL_WINDOW", "CHOKEPOINT_NCCL_EVENTS", "CHOKEPOINT_RUN",
             "CHOKEPOINT_MARKS", "CHOKEPOINT_PARENT", "CHOKEPOINT_STALL")
FOLDERS = ("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "CHOKEPOINT_HISTORY",
           "TMPDIR", "SQLITE_TMPDIR", "VIRTUAL_ENV", "CONDA_PREFIX")
LOOKS = ("NO_COLOR", "COLUMNS", "LINES", "TERM", "LANG", "LC_ALL", "TZ")
OF_THE_SYSTEM = ("PATH", "HOME", "LD_PRELOAD", "LD_LIBRARY_PATH", "GLIBC_TUNABLES",
                 "MALLOC_ARENA_MAX", "NLSYSCONFDIR", "NLCB", "NLDBG", "LOCALDOMAIN", "RES_OPTIONS")
VARIABLES = NAMES_OF_RUN + RANKS + LIBRARIES + FOLDERS + LOOKS + OF_THE_SYSTEM

LONGEST = 131_000  # the kernel takes 128 KiB a string
VALUES = {
    "nothing": "",
    "minus one": "-1",
    "2^31-1": "2147483647",
    "2^64": "18446744073709551616",
    "control characters": "\x1b[2J\x07\x7f\r\n\t\u009b\u202e",
    "no text": b"\xff\xfe\x80%s%n",
    "a long text": "x" * LONGEST,
}
NUMBERS = ("minus one", "2^31-1", "2^64")
MORE_VALUES = {
    "zero": "0",
    "2^31": "2147483648",
    "2^63-1": "9223372036854775807",
    "a large fraction": "1e308",
    "no number": "nan",
    "the root": "/",
    "a folder above": "../../../..",
    "a device": "/dev/null",
    "a device without an end": "/dev/zero",
    "one": "1",
}


def all_of(value):
    return {name: value for name in VARIABLES if name not in ("LD_PRELOAD", "PATH")}


def fill_environment(_folder):
    """What the kernel takes, to the last 16 bytes, and no more."""
    execve = os.execve

    def with_all_that_fits(path, words, variables):
        for size in range(2 << 20, 1 << 20, -16):
            parts = {f"PAD{at}".encode(): b"x" * min(100_000, size - at)
                     for at in range(0, size, 100_000)}
            try:
                execve(path, words, {**variables, **parts})
            except OSError as error:
                if error.errno != errno.E2BIG:
                    raise
        raise OSError(errno.E2BIG, "never")

    os.execve = with_all_that_fits


def kinds_of_folders(name):
    def dangling(folder):
        (folder / "t").unlink(missing_ok=True)
        (folder / "t").symlink_to(folder / "nothing")

    def fifo(folder):
        if not (folder / "t").exists():
            os.mkfifo(folder / "t")

    for kind, prepare in (("not there", None), ("a file", lambda at: (at / "t").write_text("")),
                          ("a FIFO", fifo), ("a dangling link", dangling),
                          ("a folder without rights", lambda at: (at / "t").mkdir(0, exist_ok=True))):
        yield Row(f"{name} is {kind}", {name: "t"}, prepare=prepare)


def variables():
    for name in VARIABLES:
        out = None if name in NAMES_OF_RUN else "run"
        for value, text in VALUES.items():
            if name == "LD_PRELOAD" and value == "control characters":
                continue  # what the loader says of it has lines of its own
            if value in NUMBERS and name not in NAMES_OF_RUN + RANKS + ("COLUMNS", "CHOKEPOINT_PARENT"):
                continue
            yield Row(f"{name} is {value}", {name: text}, out=out)
    for value, text in MORE_VALUES.items():
        yield Row(f"all variables are {value}", all_of(text), out=None)
    for name in ("XDG_RUNTIME_DIR", "TMPDIR"):
        yield from kinds_of_folders(name)
    for name in ("PATH", "HOME", "TERM"):
        yield Row(f"{name} is not set", without=(name,))
    yield Row("variables up to the kernel's limit", setup=fill_environment, unlike=("variable PAD",))
    yield Row("no variable at all", without=("PATH", "HOME", "TERM", "ZETA", "ALPHA"))


# ---- standard streams

KINDS = ("closed", "null", "file", "broken", "full", "read only", "socket", "terminal",
         "dead terminal", "nonblocking", "folder", "path")


def streams():
    # A relay takes what its own output refuses, but for a reader that is gone.
    lost = ("output: ", "error output: ", "no newline")
    for kind in KINDS:
        refused = kind in ("full", "read only", "folder", "path", "dead terminal")
        for names in (("out",), ("err",), ("out", "err")):
            yield Row(f"{' and '.join(names)} {kind}", streams={name: kind for name in names},
                      unlike=lost if refused else ())
    for kind in ("closed", "null", "broken", "terminal", "pipe", "folder"):
        yield Row(f"in {kind}", streams={"in": kind})
    yield Row("all closed", streams={"in": "closed", "out": "closed", "err": "closed"})
    yield Row("all broken", streams={"in": "broken", "out": "broken", "err": "broken"})
    yield Row("all closed, direct", streams={"in": "closed", "out": "closed", "err": "closed"},
              options=("-q", "--job-output", "direct"))
    yield Row("err is out", streams={"err": "same"})
    for kind in ("terminal", "nonblocking", "closed", "broken", "full", "file"):
        yield Row(f"out {kind}, and err with it", streams={"out": kind, "err": "same"} if kind != "closed"
                  else {"out": kind}, unlike=lost if kind == "full" else ())
    for kind in ("broken", "full", "closed", "dead terminal"):
        yield Row(f"err {kind}, and chokepoint talks", streams={"err": kind},
                  options=("--live", "1s"), unlike=lost)
        yield Row(f"err {kind}, and chokepoint complains", streams={"err": kind}, out="other",
                  unlike=lost)
        yield Row(f"err {kind}, and the verdict is printed", streams={"err": kind},
                  options=("--diagnose", "--report"), unlike=lost)
    for kind in KINDS[3:6]:
        yield Row(f"out {kind}, direct", streams={"out": kind}, options=("-q", "--job-output", "direct"))


# ---- limits

KILO, MEGA, GIGA = 1 << 10, 1 << 20, 1 << 30
# Address space that the loader needs for chokepoint's libraries: with less it is not chokepoint that
# fails, and the job does not start.
LEAST_SPACE = 36 * MEGA
LIMITS = {
    "NOFILE": (4, 5, 6, 8, 10, 11, 12, 13, 14, 16, 18, 20, 24, 28, 32, 48, 64, 128),
    "AS": (LEAST_SPACE, *(size * MEGA for size in (40, 48, 56, 64, 80, 96, 128, 192, 256, 512)), GIGA),
    "DATA": (4 * MEGA, 8 * MEGA, 16 * MEGA, 64 * MEGA),
    "STACK": (100 * KILO, 256 * KILO, MEGA, 16 * GIGA),
    "FSIZE": (0, 1, 4096, 65536, MEGA, 8 * MEGA),
    "CORE": (0, 1),
    "MEMLOCK": (0, 4096),
    "SIGPENDING": (0, 1),
    "MSGQUEUE": (0,),
    "RTPRIO": (0,),
    "NICE": (0,),
    "RSS": (0, 4096),
    "RTTIME": (1, 1000),
    "CPU": (1,),
}
LOCKS = 10  # without a name in Python
OTHER_USER = 0x40000000  # nobody has it; each row of processes takes another, as they are counted


def limited(number, value, hard=True):
    def setup(_folder):
        most = value if hard else resource.getrlimit(number)[1]
        resource.setrlimit(number, (value, most))
    return setup


def number_of(name):
    return LOCKS if name == "LOCKS" else getattr(resource, f"RLIMIT_{name}")


def few_processes(count):
    def setup(folder):
        become_user(OTHER_USER + os.getpid(), folder)
        resource.setrlimit(resource.RLIMIT_NPROC, (count, count))
    return setup


def become_user(user, _folder):
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def limits():
    for name, values in LIMITS.items():
        for value in values:
            yield Row(f"{name} is {value}", setup=limited(number_of(name), value))
    yield Row("LOCKS is 0", setup=limited(LOCKS, 0))
    for name, values in LIMITS.items():
        yield Row(f"{name} is {values[0]} for now",
                  setup=limited(number_of(name), values[0], hard=False), options=())
    for count in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24):
        yield Row(f"{count} processes for this user", setup=few_processes(count), needs="root",
                  unlike=("users",))
    yield Row("FSIZE is 4096, the output a file, direct", setup=limited(resource.RLIMIT_FSIZE, 4096),
              streams={"out": "file"}, options=("-q", "--job-output", "direct"))
    yield Row("the job uses up its time", setup=limited(resource.RLIMIT_CPU, 1), end="spin")
    yield Row("the job dumps its core", setup=limited(resource.RLIMIT_CORE, MEGA), end="signal:6")
    for name, values in LIMITS.items():
        yield Row(f"{name} is {values[0]}, and the verdict is printed",
                  setup=limited(number_of(name), values[0]), options=("--diagnose", "--report"))


# ---- signals and what a process inherits

NOT_ENDING = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH, signal.SIGSTOP,
              signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
SENT = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGALRM,
        signal.SIGUSR1, signal.SIGTERM)


def ignoring(*numbers):
    return lambda _folder: [signal.signal(number, signal.SIG_IGN) for number in numbers]


def blocking(*numbers):
    return lambda _folder: signal.pthread_sigmask(signal.SIG_BLOCK, numbers)


def every_signal():
    return sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})


def ignore_all(_folder):
    for number in every_signal():
        signal.signal(number, signal.SIG_IGN)


def alarm(_folder):
    signal.setitimer(signal.ITIMER_REAL, 3)  # the job has started by then


def refusing(name, error):
    return lambda _folder: kernel.refuse(kernel.SYSCALLS[name], error)


def signals():
    for number in every_signal():
        if number not in NOT_ENDING:
            yield Row(f"the job ends by signal {int(number)}", end=f"signal:{int(number)}",
                      setup=limited(resource.RLIMIT_CORE, 0))
    for code in (0, 1, 126, 127, 128, 130, 255):
        yield Row(f"the job ends with {code}", end=f"exit:{code}")
    yield Row("signals are sent", end="wait", signals=SENT)
    for number in SENT[:6]:
        yield Row(f"signal {int(number)} is sent, and ends the job", end="pause", signals=(number,))
        yield Row(f"signal {int(number)} is ignored, and is sent", end="pause",
                  setup=ignoring(number), signals=(number, signal.SIGTERM))
        yield Row(f"signal {int(number)} is blocked", setup=blocking(number))
    for number in (signal.SIGPIPE, signal.SIGCHLD, signal.SIGTERM, signal.SIGXCPU, signal.SIGXFSZ,
                   signal.SIGTTOU, signal.SIGTSTP, signal.SIGCONT, signal.SIGSEGV):
        yield Row(f"signal {int(number)} is ignored", setup=ignoring(number))
        yield Row(f"signal {int(number)} is ignored, the output broken", setup=ignoring(number),
                  streams={"out": "broken", "err": "broken"})
        yield Row(f"signal {int(number)} is blocked", setup=blocking(number))
    yield Row("all signals are ignored", setup=ignore_all)
    yield Row("all signals are blocked", setup=blocking(*every_signal()))
    yield Row("all signals are blocked, the verdict is printed", setup=blocking(*every_signal()),
              options=("--diagnose", "--report"))
    yield Row("an alarm is set", setup=alarm, end="pause")


def inherited():
    yield Row("nice", setup=lambda _: os.nice(19))
    yield Row("batch scheduling", setup=lambda _: os.sched_setscheduler(
        0, os.SCHED_BATCH, os.sched_param(0)))
    yield Row("real-time scheduling", needs="root",
              setup=lambda _: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
    yield Row("one core", setup=lambda _: os.sched_setaffinity(0, {0}))
    yield Row("timer slack", setup=lambda _: kernel.prctl(kernel.SET_TIMER_SLACK, 1_000_000, 0, 0, 0))
    yield Row("no new privileges",
              setup=lambda _: kernel.prctl(kernel.SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    yield Row("killed first", setup=lambda _: write("/proc/self/oom_score_adj", "1000"))
    for mask in (0, 0o77, 0o777):
        yield Row(f"umask {mask:o}", setup=lambda _, mask=mask: os.umask(mask) and None)
    yield Row("no right at all", needs="root", setup=drop_rights)
    yield Row("another user", needs="root", setup=lambda at: become_user(OTHER_USER - 1, at))
    yield Row("another user, umask 777", needs="root", setup=other_user_with_mask)
    yield Row("another user, the verdict is printed", needs="root", options=("--diagnose", "--report"),
              setup=lambda at: become_user(OTHER_USER - 1, at))
    for name in kernel.SYSCALLS:
        for error in (errno.EPERM, errno.ENOSYS):
            yield Row(f"{name} fails by {errno.errorcode[error]}", setup=refusing(name, error))


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def drop_rights(_folder):
    for right in range(64):
        try:
            kernel.prctl(kernel.DROP_BOUNDING, right, 0, 0, 0)
        except OSError:
            break


def other_user_with_mask(folder):
    become_user(OTHER_USER - 1, folder)
    os.umask(0o777)


# ---- places

def covered(*places, options="size=1m"):
    def setup(_folder):
        kernel.own_mounts()
        for place in places:
            kernel.mount("tmpfs", place, "tmpfs", 0, options)
    return setup


def read_only(_folder):
    kernel.own_mounts()
    kernel.make_all_read_only()


def gone(folder):
    (folder / "gone").mkdir()
    os.chdir(folder / "gone")
    (folder / "gone").rmdir()


def unmounted(folder):
    kernel.own_mounts()
    (folder / "disk").mkdir(exist_ok=True)
    kernel.mount("tmpfs", folder / "disk", "tmpfs")
    os.chdir(folder / "disk")
    kernel.checked(kernel.LIBC.umount2(os.fsencode(folder / "disk"), kernel.DETACH))


def full_disk(folder):
    kernel.own_mounts()
    (folder / "disk").mkdir(exist_ok=True)
    kernel.mount("tmpfs", folder / "disk", "tmpfs", 0, "size=64k")
    os.chdir(folder / "disk")
    try:
        with open("filler", "wb", buffering=0) as filler:
            while True:
                filler.write(bytes(4096))
    except OSError:
        pass


def no_terminals(_folder):
    kernel.own_mounts()
    kernel.mount("devpts", "/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666,max=0")
    kernel.mount("/dev/pts/ptmx", "/dev/ptmx", None, kernel.BIND)


def first_process(_folder):
    """In namespaces of its own, as in a container."""
    kernel.own_mounts()
    kernel.unshare(kernel.NEW_PIDS)
    child = os.fork()
    if child != 0:
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        os._exit(code if code >= 0 else 128 - code)
    kernel.mount("proc", "/proc", "proc")


def old_proc(folder):
    first_process(folder)
    kernel.checked(kernel.LIBC.umount2(b"/proc", kernel.DETACH))


def changed_root(folder):
    """Only the loader's libraries and the programs: no /proc, /sys, /dev, /etc, /tmp, /run."""
    covered("/proc", "/sys", "/dev", "/etc", "/tmp", "/run", "/var")(folder)


def shifted(seconds):
    def setup(_folder):
        kernel.unshare(kernel.NEW_TIME)
        write("/proc/self/timens_offsets", f"monotonic {seconds} 0\nboottime {seconds} 0\n")
    return setup


def named(name):
    return lambda _folder: kernel.set_host_name(name)


def unreadable(folder):
    os.chdir(folder)
    (folder / "closed").mkdir(0o777, exist_ok=True)
    os.chdir(folder / "closed")
    os.chmod(folder / "closed", 0)
    become_user(OTHER_USER - 1, folder)


def deep(folder):
    """A path that is longer than a path may be."""
    os.chdir(folder)
    for _ in range(25):
        os.makedirs("d" * 200, exist_ok=True)
        os.chdir("d" * 200)


def lies_there(make):
    def prepare(folder):
        if not (folder / "chokepoint-runs").is_symlink() and not (folder / "chokepoint-runs").exists():
            make(folder / "chokepoint-runs")
    return prepare


def clock(seconds, preload):
    def prepare(folder):
        (folder / "clock").write_text(str(seconds))
    return Row(f"the clock is off by {seconds} s", prepare=prepare,
               variables={"LD_PRELOAD": preload, "LAB_CLOCK_STEP_FILE": "clock"})


def places():
    for name, setup in (("the working folder is gone", gone), ("its disk is unmounted", unmounted),
                        ("it may not be read", unreadable), ("its path is too long", deep),
                        ("the disk is full", full_disk), ("everything is read-only", read_only)):
        for out in ("run", None):
            yield Row(name + (", no --out" if out is None else ""), setup=setup, out=out, needs="root",
                      unlike=("users",))
    yield Row("the working folder is gone, the verdict is printed", setup=gone, out=None,
              options=("--diagnose", "--report"))
    for place in ("/proc", "/sys", "/dev", "/etc", "/tmp", "/run", "/dev/shm", "/var"):
        yield Row(f"an empty {place}", setup=covered(place), needs="root")
        yield Row(f"an empty {place}, the verdict is printed", setup=covered(place), needs="root",
                  options=("--diagnose", "--report"))
    yield Row("an empty root", setup=changed_root, needs="root")
    yield Row("no room in /tmp and /dev/shm", setup=covered("/tmp", "/dev/shm", options="size=4k"),
              needs="root")
    yield Row("no inodes in /tmp and /dev/shm",
              setup=covered("/tmp", "/dev/shm", options="nr_inodes=1"), needs="root")
    yield Row("no pseudo-terminals", setup=no_terminals, needs="root",
              streams={"out": "terminal", "err": "terminal"})
    yield Row("the first process", setup=first_process, needs="root")
    yield Row("another's /proc", setup=old_proc, needs="root")
    yield Row("no network", setup=lambda _: kernel.unshare(kernel.NEW_NETWORK), needs="root")
    yield Row("no user", setup=lambda _: kernel.unshare(kernel.NEW_USERS), needs="root")
    for name in (b"", b"..", b"a/b", b"\x1b[2J\n", b"\xff\xfe", b"x" * 64, b"-q", b" "):
        yield Row(f"the host is named {name!r}", setup=named(name), needs="root")
    for out in ("", "/proc/nothing", "/dev/full", "/dev/null/x", "file", "fifo", "dangling", "loop",
                "x" * 300, "d/" * 300, "y" * 5000, "\x1b[2J\n", "-", "..", "~", "none/" * 50, "\udcff\udcfe"):
        yield Row(f"--out {out[:40]!r}", out=out, prepare=odd_places)
    for kind, make in (("a file", lambda at: at.write_text("")), ("a FIFO", os.mkfifo),
                       ("a dangling link", lambda at: at.symlink_to(at / "nothing" / "there")),
                       ("a loop", lambda at: at.symlink_to(at))):
        yield Row(f"chokepoint-runs is {kind}", out=None, prepare=lies_there(make))
    for seconds in (10 ** 6, 10 ** 9):
        yield Row(f"up since {seconds} s", setup=shifted(seconds), needs="root")


def odd_places(folder):
    if (folder / "fifo").exists():
        return
    (folder / "file").write_text("")
    os.mkfifo(folder / "fifo")
    (folder / "dangling").symlink_to(folder / "nothing" / "there")
    (folder / "loop").symlink_to(folder / "loop")


def clocks(preload):
    for seconds in (-10 ** 9, -10 ** 10, -10 ** 11, 10 ** 10, 10 ** 12, -3600):
        yield clock(seconds, preload)
