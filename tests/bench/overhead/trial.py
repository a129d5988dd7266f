"""One run of a job on two hosts, watched or alone: its step time, and what its watchers cost."""

import contextlib
import os
import pathlib
import re
import sqlite3
import statistics
import time

from jobs import ONE_THREAD
from lab import Failed

STEP = re.compile(r"^step (\d+) .*time ([\d.]+)ms$", re.MULTILINE)
WARM_UP_STEPS = 5
RUN_SECONDS = 180
LOOK_SECONDS = 0.5
# By then the host's facts are read and the rings are there, which is done once.
SET_UP_SECONDS = 2
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class Stage:
    def __init__(self, lab, rate_mbps, program):
        self.folder, self.program = lab.folder, program
        self.hosts = [lab.host("left"), lab.host("right")]
        self.link = lab.link(*self.hosts, rate_mbps)
        self.played = 0

    def play(self, job, steps, is_watched):
        self.played += 1
        folder = self.folder / f"trial-{self.played}"
        (folder / "meet").mkdir(parents=True)
        words, environment = job(folder / "meet", [self.link.a.ipv4, self.link.b.ipv4], steps)
        ranks = [self.start(number, words, environment, folder if is_watched else None)
                 for number in range(len(self.hosts))]
        watchers = {host.name: Watcher(host, self.program) for host in self.hosts}
        while any(rank.running() for rank in ranks):
            time.sleep(LOOK_SECONDS)
            for watcher in watchers.values():
                watcher.look()
        for rank in ranks:
            if rank.wait(RUN_SECONDS) != 0:
                raise Failed(rank.told())
        hosts = {name: watcher.figures(folder / "run" / f"{name}.db")
                 for name, watcher in watchers.items()} if is_watched else {}
        return {"step_ms": usual_ms(ranks[0]), "hosts": hosts}

    def start(self, number, words, environment, folder):
        host, end = self.hosts[number], (self.link.a, self.link.b)[number]
        if folder:
            words = [self.program, "run", "--out", folder / "run", "--node", host.name, "--",
                     *words]
        return host.start(words, environment={
            **ONE_THREAD, **environment, "RANK": str(number), "WORLD_SIZE": str(len(self.hosts)),
            "GLOO_SOCKET_IFNAME": end.interface})


def usual_ms(rank):
    told = [float(found[2]) for found in STEP.finditer(rank.stdout())][WARM_UP_STEPS:]
    if not told:
        raise Failed(f"no steps: {rank.told()}")
    return statistics.median(told)


class Watcher:
    """All processes of a host that run chokepoint: the watcher, who passes the output on, and who
    reads packets. They are looked for as often where there is none, so that looking costs both
    kinds of trial alike."""

    def __init__(self, host, program):
        program = pathlib.Path(program).resolve()
        helper = program.parent / "lib/chokepoint/chokepoint-capture"
        self.host, self.programs = host, {str(program), str(helper)}
        self.began = time.monotonic()
        self.processor_s, self.memory_kb, self.seconds = {}, {}, 0
        self.set_up_s = self.set_up_after = None
        self.thread_ns, self.thread_set_up_ns = {}, {}

    def look(self):
        for pid in self.host.pids():
            with contextlib.suppress(OSError, StopIteration):
                if os.readlink(f"/proc/{pid}/exe") in self.programs:
                    self.note(pid)
        if self.set_up_after is None and self.seconds >= SET_UP_SECONDS:
            self.set_up_s, self.set_up_after = sum(self.processor_s.values()), self.seconds
            self.thread_set_up_ns = dict(self.thread_ns)

    def note(self, pid):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        status = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
        self.processor_s[pid] = (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND
        self.memory_kb[pid] = int(next(line for line in status
                                       if line.startswith("VmHWM")).split()[1])
        for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
            key = (pid, int(thread.name), (thread / "comm").read_text().strip())
            self.thread_ns[key] = int((thread / "schedstat").read_text().split()[0])
        self.seconds = time.monotonic() - self.began

    def by_thread(self, running_s):
        """Percent of a core once set up, by what the thread is called."""
        told = {}
        for key, spent in self.thread_ns.items():
            name = f"{key[2]}, first thread" if key[0] == key[1] else key[2]
            told[name] = told.get(name, 0) + spent - self.thread_set_up_ns.get(key, 0)
        return {name: 100 * spent / 1e9 / running_s for name, spent in told.items()}

    def figures(self, record):
        if not self.processor_s:
            raise Failed(f"nobody watched {self.host.name}")
        spent = sum(self.processor_s.values())
        running_s = self.seconds - (self.set_up_after or self.seconds)
        return {"core_percent": 100 * spent / self.seconds,
                "running_percent": 100 * (spent - self.set_up_s) / running_s if running_s else None,
                "threads_percent": self.by_thread(running_s) if running_s else {},
                "core_percent_by_record": by_record(record),
                "memory_mb": sum(self.memory_kb.values()) * 1024 / 1e6,
                "record_mb": record.stat().st_size / 1e6}


def by_record(file):
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as record:
        spent = record.execute(
            "SELECT max(value) FROM counter_sample JOIN series ON series.id = series "
            "WHERE name = 'chokepoint.cpu_ns'").fetchone()[0]
        took = record.execute("SELECT end_ns - start_ns FROM session").fetchone()[0]
    return 100 * spent / took if spent and took else None
