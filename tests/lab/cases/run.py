"""A job under `chokepoint run` is as it would be alone: status, signals, output, terminal,
children; whatever becomes of either of the two."""

import hashlib
import os
import pathlib
import pty
import signal
import time

from checks import between, holds, same, soon
from watched import Watched

RECORD_PROMISE_S = 1.5
MOST_MEMORY_MB = 100


def watched(lab, job, *options, **how):
    host = how.pop("host", None) or lab.host("left")
    return Watched(host, job, lab.folder / "run", options, **how)


def shell(line):
    return ["sh", "-c", line]


def as_a_shell_says(status):
    return 128 - status if status < 0 else status


def test_the_exit_status_is_the_jobs(lab):
    host = lab.host("left")
    for number, (line, wanted) in enumerate((("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143),
                                             ("kill -KILL $$", 137), ("kill -SEGV $$", 139))):
        run = Watched(host, shell(line), lab.folder / f"run-{number}")
        run.wait(status=None)
        same(as_a_shell_says(run.process.popen.returncode), wanted, f"exit status of {line!r}")
        with run.record() as record:
            holds(record.is_complete(), f"the record of {line!r} was not ended")
            same(record.value("SELECT exit_status FROM session"), wanted, "status in the record")


def test_signals_reach_the_job(lab):
    host = lab.host("left")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGQUIT):
        line = f"trap 'echo caught; exit 9' {int(number)}; echo ready; while :; do sleep 0.05; done"
        run = Watched(host, shell(line), lab.folder / f"run-{number.name}")
        run.process.until(lambda: "ready" in run.stdout(), 10, "the job's first word")
        run.process.signal(number)
        run.wait(status=9)
        holds("caught" in run.stdout(), f"{number.name} did not reach the job")


def test_output_is_the_jobs_to_the_byte(lab):
    made = lab.folder / "bytes"
    made.write_bytes(os.urandom(3_000_000) + bytes(100_000) + b"\r\x1b[2J\xff\n" * 1000)
    run = watched(lab, shell(f"cat {made}; cat {made} >&2"), "-q").wait()
    for stream in (run.process.out, run.process.err):
        same(hashlib.sha256(stream.read_bytes()).hexdigest(),
             hashlib.sha256(made.read_bytes()).hexdigest(), f"what came out of {stream.name}")


def test_input_is_the_jobs(lab):
    made = lab.folder / "input"
    made.write_bytes(b"one\ntwo\n")
    with open(made, "rb") as given:
        host = lab.host("left")
        process = host.start(["chokepoint", "run", "--out", lab.folder / "run", "--", "cat"],
                             stdin=given)
        same(process.wait(20), 0, "exit status")
    same(process.stdout(), "one\ntwo\n", "what the job read")


def test_a_flood_of_output(lab):
    """Two hundred megabytes, as fast as the job can: all of it comes through."""
    run = watched(lab, shell("head -c 200000000 /dev/zero | tr '\\0' x; echo end"))
    most_kb = 0
    while run.process.running():
        most_kb = max(most_kb, sum(map(memory_kb, watchers(run.process.pid))))
        time.sleep(0.02)
    run.wait()
    same(run.process.out.stat().st_size, 200_000_004, "bytes that came out")
    between(most_kb / 1024, 1, MOST_MEMORY_MB, "megabytes that chokepoint took")


def watchers(pid):
    """chokepoint, and the process that writes its record."""
    try:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        children = []
    return [pid, *(child for child in children if name_of(child) == "chokepoint-rec")]


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def memory_kb(pid):
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    except (OSError, StopIteration):
        return 0


def test_endless_lines(lab):
    """No line ends; what looks for steps in them keeps neither memory nor the job."""
    run = watched(lab, shell("head -c 50000000 /dev/zero; printf 'step 1 loss 2 time 3ms\\r'"),
                  "--step-regex", r"step (?P<step>\d+) loss").wait()
    same(run.process.out.stat().st_size, 50_000_023, "bytes that came out")


def test_a_job_that_ends_at_once(lab):
    host = lab.host("left")
    for number in range(5):
        run = Watched(host, ["true"], lab.folder / f"run-{number}", ("--label", "setup=2x2")).wait()
        with run.record() as record:
            holds(record.is_complete(), "the record was not ended")
            same(record.rows("SELECT key, value FROM label"), [{"key": "setup", "value": "2x2"}],
                 "labels")
            same(record.value("SELECT count(*) FROM process"), 1, "processes of the job")


def test_a_command_that_is_not_there(lab):
    run = watched(lab, ["/nowhere/at-all"]).wait(status=None)
    holds(run.process.popen.returncode in (1, 127), f"{run.process.told()}")
    told = [line for line in run.stderr().splitlines() if "/nowhere/at-all" in line]
    same(len(told), 1, f"lines that say so ({run.stderr()})")


def test_a_job_that_leaves_a_daemon(lab):
    """The command is over when its first process is; what it left goes on, its output, too."""
    done = lab.folder / "done"
    line = f"(setsid sh -c 'sleep 3; echo late; touch {done}' &) ; echo early"
    began = time.monotonic()
    run = watched(lab, shell(line)).wait()
    between(time.monotonic() - began, 0, 2.9, "seconds until the command was over")
    same(run.stdout(), "early\n", "output by then")
    soon(done.exists, 10, "the daemon's end")
    soon(lambda: run.stdout() == "early\nlate\n", 5, "the daemon's output")


def test_a_daemon_of_the_job_is_the_jobs(lab):
    """It forks twice, leaves its session, and is somebody else's child while the job goes on."""
    line = "(setsid sh -c 'exec sleep 2.125' &) ; exec sleep 2.5"
    run = watched(lab, shell(line)).wait()
    with run.record() as record:
        commands = [row["command"] for row in record.rows("SELECT command FROM process")]
    holds(any("2.125" in command for command in commands), f"the daemon is not among {commands}")


def test_chokepoint_is_killed(lab):
    """The job does not notice, and the record is whole up to the last second."""
    done = lab.folder / "done"
    line = f"for i in $(seq 40); do echo line $i; sleep 0.1; done; touch {done}"
    run = watched(lab, shell(line))
    run.process.until(lambda: "line 20" in run.stdout(), 20, "the job's twentieth line")
    killed_ns = time.monotonic_ns()
    run.process.signal(signal.SIGKILL)
    run.wait(status=None)
    with run.record() as record:
        holds(record.is_sound(), "the record is damaged")
        holds(not record.is_complete(), "the record says that it was ended")
        between((killed_ns - record.newest_sample_ns()) / 1e9, 0, RECORD_PROMISE_S,
                "seconds that are missing")
    soon(done.exists, 10, "the job's end")
    same(run.stdout().splitlines(), [f"line {i}" for i in range(1, 41)], "the job's output")


def test_the_job_is_killed(lab):
    run = watched(lab, shell("echo $$; exec sleep 60"))
    run.process.until(lambda: run.stdout().strip(), 10, "the job's number")
    time.sleep(0.5)
    os.kill(int(run.stdout()), signal.SIGKILL)
    run.wait(status=None)
    same(as_a_shell_says(run.process.popen.returncode), 137, "exit status")
    with run.record() as record:
        holds(record.is_sound() and record.is_complete(), "the record is not complete")


def test_a_terminal_is_the_jobs(lab):
    """What asks whether it speaks to a person gets the answer it had alone, and Ctrl-C is the
    job's to take."""
    host = lab.host("left")
    line = "test -t 0 && test -t 1 && test -t 2 && echo terminal; " \
           "trap 'echo stopped; exit 5' INT; echo ready; while :; do sleep 0.05; done"
    words = host.inside(["chokepoint", "run", "--out", lab.folder / "run", "--", *shell(line)])
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(words[0], words, host.environment)
    told = read_until(terminal, b"ready")
    os.write(terminal, b"\x03")
    told += read_until(terminal, b"stopped")
    drain(terminal)
    same(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 5, "exit status")
    holds(b"terminal" in told, f"the job does not see a terminal: {told!r}")


def read_until(terminal, word):
    told = b""
    end = time.monotonic() + 15
    while word not in told:
        holds(time.monotonic() < end, f"no {word!r} in {told!r}")
        told += os.read(terminal, 4096)
    return told


def drain(terminal):
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:
        os.close(terminal)


ASK = "import urllib.request as u, time; time.sleep(1.5); " \
      "print(u.urlopen('http://127.0.0.1:9464/metrics').read().decode())"


def test_metrics_while_it_runs(lab):
    """The job itself asks, and is among what it is told."""
    left = lab.host("left")
    lab.link(left, lab.host("right"))
    run = watched(lab, ["python3", "-c", ASK], "--metrics", "9464", "--label", "setup=2x1",
                  host=left).wait()
    for text in ('node="left"', 'label_setup="2x1"', "chokepoint_job_processes 1",
                 "chokepoint_own_cpu_ratio", "chokepoint_nic_sent_bytes_total"):
        holds(text in run.stdout(), f"no {text} in {run.stdout()}")
