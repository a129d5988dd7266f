"""`chokepoint run` where something is lacking or goes away: rights, disk, locks, interfaces, the
right time. The job goes on, the record is as good as it can be, and what was lost is told."""

import contextlib
import os
import pathlib
import signal
import sys
import time

import kernel
from checks import between, holds, same, soon
from disks import disk_that_freezes
from processes import children_of
from watched import Both, Record, Watched, exchange

MEGABYTE = 1_000_000
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
HOUR_S = 3600


def preload():
    """What stands in for calls that cannot fail here."""
    beside = pathlib.Path(__file__).parents[3] / "build/release/tests/lab/preload/lab_preload.so"
    found = os.environ.get("CHOKEPOINT_LAB_PRELOAD", str(beside))
    if not os.access(found, os.R_OK):
        raise kernel.Skipped("needs lab_preload: ninja -C build/release lab_preload")
    return found


@contextlib.contextmanager
def small_disk(folder, size):
    folder.mkdir()
    kernel.command("mount", "-t", "tmpfs", "-o", f"size={size},mode=777", "lab", folder)
    try:
        yield folder
    finally:
        kernel.command("umount", "-l", folder)


def fill(disk):
    with open(disk / "filler", "wb", buffering=0) as filler:
        with contextlib.suppress(OSError):
            while True:
                filler.write(bytes(4096))


def test_without_the_right_to_capture(lab):
    lab.needs("setpriv")
    left, right = lab.host("left"), lab.host("right")
    link = lab.link(left, right, 200)
    right.serve(exchange("listen", link.b.ipv4, 5000, "--bytes", MEGABYTE), 5000)
    out = lab.folder / "run"
    out.mkdir(mode=0o777)
    lab.folder.chmod(0o755)
    out.chmod(0o777)
    run = Watched(left, exchange("connect", link.b.ipv4, 5000, "--bytes", MEGABYTE), out,
                  before=NOBODY).wait(30)
    told = run.stderr().lower()
    holds("packet" in told and ("permi" in told or "cap_net_raw" in told or "root" in told),
          f"it does not say that packets could not be seen: {run.stderr()}")
    with run.record() as record:
        holds(record.is_complete(), "the record was not ended")
        holds(record.value("SELECT count(*) FROM socket_sample") > 0, "no samples of sockets")
        holds(record.value("SELECT count(*) FROM counter_sample") > 0, "no counters")
        sent = max((sent for sent, _ in record.volumes().values()), default=0)
    between(sent / (20 * MEGABYTE), 0.98, 1.1, "volume by sockets, over the job's payload")


def test_a_disk_that_fills_up(lab):
    left, right = lab.host("left"), lab.host("right")
    link = lab.link(left, right, 200)
    words = ("--steps", 120, "--connections", 40, "--bytes", MEGABYTE // 2)
    right.serve(exchange("listen", link.b.ipv4, 5000, *words), 5000)
    with small_disk(lab.folder / "disk", "8M") as disk:
        run = Watched(left, exchange("connect", link.b.ipv4, 5000, *words), disk)
        run.process.until(lambda: "step 20 " in run.stdout(), 20, "the twentieth step")
        fill(disk)
        run.wait(60)
        same(len(run.stdout().splitlines()), 120, "lines of the job")
        holds("space" in run.stderr() or "full" in run.stderr(),
              f"it does not say that the disk is full: {run.stderr()}")
        (disk / "filler").unlink()
        with run.record() as record:
            holds(record.is_sound(), "the record is damaged")
            holds(record.value("SELECT count(*) FROM socket_sample") > 0, "nothing was kept")


def test_no_room_at_all(lab):
    """Nothing can be kept: the job runs unwatched, and a line says so; strictly, it is not started."""
    with small_disk(lab.folder / "disk", "64k") as disk:
        fill(disk)
        left = lab.host("left")
        run = Watched(left, ["echo", "started"], disk / "run").wait()
        same(run.stdout(), "started\n", "the job's output")
        same(len(run.stderr().splitlines()), 1, f"lines of {run.stderr()}")
        holds("not watched" in run.stderr(), f"it does not say so: {run.stderr()}")
        strict = Watched(left, ["echo", "started"], disk / "run", ("--strict",)).wait(status=1)
        same(strict.stdout(), "", "the job's output")
        same(len(strict.stderr().splitlines()), 1, f"lines of {strict.stderr()}")


def is_complete(folder):
    with Record.of(folder, "left") as record:
        return record.is_complete()


def test_a_disk_that_freezes(lab):
    """The job's end and status are told in seconds; the record gets its end when the disk is back."""
    lab.needs("fsfreeze", "mkfs.ext4")
    left = lab.host("left")
    with disk_that_freezes(lab.folder) as disk:
        run = Watched(left, ["sh", "-c", "sleep 2; echo done; exit 7"], disk / "run")
        time.sleep(1)
        kernel.command("fsfreeze", "-f", disk)
        began = time.monotonic()
        run.wait(30, status=7)
        between(time.monotonic() - began, 0, 6, "seconds until the job's end was told")
        same(run.stdout(), "done\n", "the job's output")
        holds("not complete" in run.stderr(), f"it does not say so: {run.stderr()}")

        began = time.monotonic()
        unwatched = Watched(left, ["sh", "-c", "echo done; exit 8"], disk / "other")
        unwatched.wait(30, status=8)
        between(time.monotonic() - began, 0, 12, "seconds until the job had run")
        holds("not watched" in unwatched.stderr(), f"it does not say so: {unwatched.stderr()}")

        kernel.command("fsfreeze", "-u", disk)
        soon(lambda: is_complete(disk / "run"), 10, "the record's end")


def test_a_folder_without_locks(lab):
    """As on an NFS without a lock daemon: one writer, no shared memory, a whole record."""
    memory = lab.folder / "memory"
    memory.mkdir()
    environment = {"LD_PRELOAD": preload(), "LAB_NO_LOCKS": "1", "TMPDIR": str(memory)}
    run = Watched(lab.host("left"), ["sleep", "1.5"], lab.folder / "run",
                  environment=environment).wait()
    with run.record() as record:
        holds(record.is_sound() and record.is_complete(), "the record is not complete")
        holds(record.value("SELECT count(*) FROM counter_sample") > 0, "no counters")
    same([*memory.iterdir()], [], "folders for NCCL's plugin that nobody can hold")


def test_two_writers_of_a_name_in_a_folder_without_locks(lab):
    """The second is recorded under another name; a killed one leaves its name to the next."""
    left, out = lab.host("left"), lab.folder / "run"
    environment = {"LD_PRELOAD": preload(), "LAB_NO_LOCKS": "1"}

    def watched(line, *more):
        return Watched(left, ["sh", "-c", line], out, ("--append", *more),
                       environment=environment)

    first = watched("sleep 4")
    soon(lambda: (out / "left.db-wal").exists(), 10, "the first record")
    second = watched("true").wait(20)
    holds("is recorded as left-2" in second.stderr(), f"it does not say so: {second.stderr()}")
    first.wait(20)
    same(sorted(each.name for each in out.iterdir()), ["left-2.db", "left.db"], "the folder")

    (out / "left.db-lock").write_text("boot=elsewhere\n")
    old_s = time.time() - 60
    for name in ("left.db", "left.db-lock"):
        os.utime(out / name, (old_s, old_s))
    third = watched("true").wait(20)
    holds("recorded as" not in third.stderr(), f"it was kept out: {third.stderr()}")
    same(sorted(each.name for each in out.iterdir()), ["left-2.db", "left.db"], "the folder")


def test_a_clock_that_steps(lab):
    """Back by an hour: durations and order do not change."""
    step = lab.folder / "step"
    line = "for i in $(seq 30); do echo step $i loss 1; sleep 0.1; done"
    run = Watched(lab.host("left"), ["sh", "-c", line], lab.folder / "run",
                  ("--step-regex", "step (?P<step>[0-9]+) loss"),
                  environment={"LD_PRELOAD": preload(), "LAB_CLOCK_STEP_FILE": str(step)})
    run.process.until(lambda: "step 10 " in run.stdout(), 20, "the tenth step")
    step.write_text(f"-{HOUR_S}\n")
    run.wait(30)
    with run.record() as record:
        steps = record.steps(2)
        between(len(steps), 29, 30, "steps")
        for one in steps:
            between((one["end_ns"] - one["start_ns"]) / 1e6, 50, 1000, "milliseconds of a step")
        begins, ends = record.rows("SELECT start_ns, end_ns FROM session")[0].values()
    between((ends - begins) / 1e9, 2, 20, "seconds that the session took")


def test_an_interface_that_goes_down_and_comes_back(lab):
    left, right = lab.host("left"), lab.host("right")
    link = lab.link(left, right, 200)
    job = Both(lab, link, "--steps", 60, "--bytes", MEGABYTE // 4, "--rest", 0.05)
    job.until(lambda: "step 10 " in job.printed(left), "the tenth step")
    link.a.down()
    time.sleep(0.5)
    link.a.up()
    up_ns = time.monotonic_ns()
    job.wait(60)
    with job.record(left) as record:
        holds(record.is_complete(), "the record was not ended")
        after = record.value("SELECT sum(bytes) FROM flow_sample WHERE t_ns > ?", up_ns)
        holds((after or 0) > 5 * MEGABYTE, f"bytes that packets told of since then: {after}")


def test_an_interface_that_is_removed(lab):
    """The job used it before, and uses another one by then."""
    left, right = lab.host("left"), lab.host("right")
    first, second = lab.link(left, right, 200), lab.link(left, right, 200)
    for port, link in ((5000, first), (5001, second)):
        right.serve(exchange("listen", link.b.ipv4, port, "--steps", 30, "--rest", 0.05), port)
    words = [" ".join(map(str, exchange("connect", link.b.ipv4, port, "--steps", 30, "--rest",
                                        0.05))) for port, link in ((5000, first), (5001, second))]
    run = Watched(left, ["sh", "-c", f"{words[0]} && echo second && {words[1]}"],
                  lab.folder / "run")
    run.process.until(lambda: "step 5 " in run.stdout().partition("second")[2], 20,
                      "steps on the second link")
    left.ip("link", "delete", first.a.interface)
    run.wait(30)
    with run.record() as record:
        holds(record.is_complete(), "the record was not ended")
        volumes = record.volumes()
    for link in (first, second):
        between(volumes[link.a.interface][0] / (3 * MEGABYTE), 1.0, 1.2,
                f"sent by {link.a.interface}, over the job's payload")


def test_two_at_once(lab):
    """Each sees its own job."""
    left, right = lab.host("left"), lab.host("right")
    link = lab.link(left, right, 500)
    link.offload(False)
    runs = []
    for port, size in ((5000, MEGABYTE), (5001, MEGABYTE // 4)):
        right.serve(exchange("listen", link.b.ipv4, port, "--bytes", size), port)
        runs.append((size, Watched(left, exchange("connect", link.b.ipv4, port, "--bytes", size),
                                   lab.folder / f"run-{port}")))
    for size, run in runs:
        run.wait(30)
        with run.record() as record:
            between(record.volumes()[link.a.interface][0] / (20 * size), 1.03, 1.12,
                    f"sent, over the payload of the job with {size} bytes a step")


def test_two_that_want_the_same_record(lab):
    """The second one is another node of that name, and gets a record of its own."""
    left = lab.host("left")
    first = Watched(left, ["sleep", "2"], lab.folder / "run")
    soon(lambda: (lab.folder / "run" / "left.db").exists(), 10, "the first one's record")
    second = Watched(left, ["echo", "started"], lab.folder / "run").wait()
    same(second.stdout(), "started\n", "the second job's output")
    holds("another node is called left, too" in second.stderr(), second.stderr())
    first.wait()
    for name in ("left", "left-2"):
        with Record.of(lab.folder / "run", name) as record:
            holds(record.is_sound() and record.is_complete(), f"{name}'s record is not complete")


# What it does to a request says the first part of its path.
COLLECTOR = """
import socket, struct
server, silent = socket.create_server(("127.0.0.1", 4318)), []
while True:
    client = server.accept()[0]
    asked = client.recv(65536)
    if asked.startswith(b"POST /silent/"):
        silent.append(client)
        continue
    if asked.startswith(b"POST /reset/"):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    else:
        client.sendall(b"HTTP/1.1 503 Busy\\r\\nRetry-After: 60\\r\\n\\r\\nfull")
    client.close()
"""
WHY_NOT_SENT = {"silent": "the job ended meanwhile", "reset": "reset", "busy": "answered 503: full",
                "absent": "refused"}


def test_a_collector_that_takes_nothing_spoils_neither_job_nor_record(lab):
    host = lab.host("left")
    host.serve([sys.executable, "-c", COLLECTOR], 4318)
    job = "for step in 1 2 3; do echo step $step time 100ms; sleep 0.1; done; exit 5"
    for way, reason in WHY_NOT_SENT.items():
        port = 4319 if way == "absent" else 4318
        run = Watched(host, ["sh", "-c", job], lab.folder / way,
                      ["--otlp", f"http://127.0.0.1:{port}/{way}"]).wait(30, status=5)
        same(run.stdout().count("step "), 3, f"{way}: the job's own lines")
        holds("not complete" not in run.stderr(), f"{way}: {run.stderr()}")
        with run.record() as record:
            holds(record.is_complete(), f"{way}: the record was not ended")
            told = [row["value"] for row in record.rows("SELECT value FROM fact WHERE subject = ?",
                                                        "OTLP")]
        holds(any(reason in each for each in told), f"{way}: {told}")


def has_word(pid, word):
    with contextlib.suppress(OSError):
        return word in pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    return False


def held_report(process, seconds):
    """Stops the process that writes the report, as a disk that does not answer would."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.running():
        for child in children_of(process.pid):
            if has_word(child, "report"):
                os.kill(child, signal.SIGSTOP)
                return True
    return False


def test_a_signal_after_the_job_ends_what_follows(lab):
    job = ["sh", "-c", "for step in 1 2 3; do echo step $step; done; exit 7"]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        for attempt in range(20):  # the report may be written before it is found
            run = Watched(lab.host(f"host{number}x{attempt}"), job, lab.folder / f"{number}-{attempt}",
                          ["--report"])
            if held_report(run.process, 20):
                break
            run.wait(20, status=7)
        else:
            raise AssertionError("the report was never found while it was written")
        began = time.monotonic()
        os.kill(run.process.pid, number)
        run.wait(20, status=7)
        between(time.monotonic() - began, 0, 3, f"seconds from {number.name} to the end")
