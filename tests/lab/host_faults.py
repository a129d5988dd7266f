"""Faults of a host: its sysctls, and somebody else on its processor.

The hosts share the machine's processors. So a rank whose processor is taken is pinned, as the
scenario says, and what takes it is pinned beside it; everything else of the lab stays free.
"""

import cgroups
from fault import Fault
from job_faults import is_of_the_job
from kernel import Skipped
from processes import tree_of

SPIN = """
import contextlib, os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
os.nice(int(sys.argv[2]))
with contextlib.suppress(OSError):  # a session's processes may have a priority together
    open("/proc/self/autogroup", "w").write(sys.argv[2])
while True:
    pass
"""


class Sysctls(Fault):
    def begin(self, jobs):
        self.host().sysctls(self.words["sysctls"])


class OfTheRank(Fault):
    """Comes when the job's steps begin, so that it starts as fast as any."""

    def __init__(self, stage, words):
        super().__init__(stage, {"from_s": 0, **words})


class ProcessorTaken(OfTheRank):
    """Processes of higher priority compute on the rank's processor."""

    def begin(self, jobs):
        processor = self.stage.processor(self.words["host"])
        self.taking = [self.host().start(["python3", "-c", SPIN, processor, self.words["nice"]])
                       for _ in range(self.words.get("processes", 1))]

    def end(self, jobs):
        for process in self.taking:
            process.kill()


class ProcessorQuota(OfTheRank):
    """The rank's processes may have a share of a processor only, as a container may."""

    group = None

    def begin(self, jobs):
        self.group = Quota(self.words["share"], self.words["period_ms"])
        for pid in filter(is_of_the_job, tree_of(jobs[self.words["host"]].pid)):
            self.group.take(pid)

    def end(self, jobs):
        self.group.close()
        self.group = None

    def close(self):
        if self.group:
            self.group.close()


class Quota(cgroups.Group):
    """Of the processor controller, of either version."""

    def __init__(self, share, period_ms):
        self.first = cgroups.first_version("cpu")
        super().__init__(self.first or cgroups.second_version(), "quota")
        try:
            self.limit(round(period_ms * 1000), share)
        except OSError as error:
            self.close()
            raise Skipped(f"no quota of processors: {error}") from error

    def limit(self, period, share):
        if self.first:
            self.write("cpu.cfs_period_us", period)
            self.write("cpu.cfs_quota_us", round(period * share))
        else:
            self.write("cpu.max", f"{round(period * share)} {period}")
