"""A job on NCCL as chokepoint sees it by its plugin: a stand-in for NCCL's own side calls the plugin
as NCCL does, around a ring all-reduce over real connections. There is no GPU in it."""

import pathlib
import shlex

from checks import between, holds, near, same
from training import nccl_stand_in
from watched import Watched

NCCL = 2
STEPS, BUCKETS = 130, 4


class Job:
    """So many ranks on each of two hosts, watched, their records in one folder."""

    def __init__(self, lab, link, *words, late=None, each=1, environment=None, inside=(),
                 first=0):
        self.out, self.link = lab.folder / "run", link
        self.words, self.late, self.ranks = words, late, 2 * each
        self.inside, self.first = inside, first  # the job's rank of the communicator's rank 0
        self.runs = {}
        for place, end in enumerate((link.a, link.b)):
            launched = " & ".join(self.command(rank) for rank in
                                  range(place * each, (place + 1) * each))
            self.runs[end.host.name] = Watched(end.host, ["sh", "-c", f"{launched} & wait"],
                                               self.out, ["-q"], environment)

    def command(self, rank):
        address = [end.ipv4 for end in (self.link.a, self.link.b)]
        own, following = (address[of * 2 // self.ranks] for of in (rank, (rank + 1) % self.ranks))
        late = ["--late-ms", self.late[1]] if self.late and self.late[0] == rank else []
        words = [*self.inside, nccl_stand_in(), rank, self.ranks, own, following, "--steps", STEPS,
                 "--buckets", BUCKETS, *self.words, *late]
        job = f"RANK={self.first + rank} WORLD_SIZE={self.first + self.ranks}"
        return f"{job} {shlex.join(map(str, words))}"

    def wait(self, timeout=60):
        for run in self.runs.values():
            run.wait(timeout)
        return self

    def record(self, name):
        return self.runs[name].record()

    def diagnosis(self):
        return self.link.a.host.json(["chokepoint", "diagnose", self.out, "--json"])


def two_hosts(lab, rate_mbps=None):
    left, right = lab.host("left"), lab.host("right")
    return lab.link(left, right, rate_mbps=rate_mbps)


def measure_collectives_stand_in_the_record_with_all_that_nccl_tells(lab):
    job = Job(lab, two_hosts(lab), "--bytes", 400_000, "--compute-ms", 20,
              environment={"CHOKEPOINT_NCCL_WINDOW": "all"}).wait()
    told = {}
    for name, rank in (("left", 0), ("right", 1)):
        with job.record(name) as record:
            rows = record.rows("SELECT * FROM collective WHERE source = ? ORDER BY number", NCCL)
            same([row["number"] for row in rows], list(range(STEPS * BUCKETS)), "numbers")
            for row in rows:
                same((row["kind"], row["rank"], row["bytes"], row["algorithm"], row["protocol"],
                      row["channels"]), (1, rank, 400_000, 2, 3, 1), "the row")
                holds(row["enqueued_ns"] < row["own_ready_ns"] == row["start_ns"] <= row["end_ns"],
                      f"its moments: {row}")
                holds(row["network_wait_ns"] > 0 and row["gpu_wait_ns"] > 0, f"its waits: {row}")
            told[name] = rows
            same(record.value("SELECT count(*) FROM event WHERE kind = 'dropped'"), 0, "losses")
            near(len(record.steps(3)), STEPS, 0.05, "steps by collectives")
    same(len({row["communicator"] for rows in told.values() for row in rows}), 1, "communicators")
    apart = [abs(one["end_ns"] - other["end_ns"]) / 1e6
             for one, other in zip(told["left"], told["right"], strict=True)]
    between(sorted(apart)[len(apart) // 2], 0, 3, "ms between the two ends of a collective")


def measure_a_full_link_is_the_verdict(lab):
    job = Job(lab, two_hosts(lab, 1000), "--bytes", 3_000_000, "--compute-ms", 30).wait()
    verdict = job.diagnosis()["verdict"]
    same(verdict["class"], "lan-bandwidth", verdict)


def measure_computing_is_the_verdict_where_the_link_is_fast(lab):
    job = Job(lab, two_hosts(lab), "--bytes", 400_000, "--compute-ms", 80).wait()
    verdict = job.diagnosis()["verdict"]
    same(verdict["class"], "compute", verdict)


def measure_who_comes_late_is_named(lab):
    job = Job(lab, two_hosts(lab), "--bytes", 400_000, "--compute-ms", 60, late=(1, 40)).wait()
    verdict = job.diagnosis()["verdict"]
    same((verdict["class"], verdict["where"]["rank"]), ("straggler", 1), verdict)
    between(verdict["lost_ms_per_step"], 30, 50, "ms lost a step")


def measure_of_several_ranks_on_a_host_the_late_one_is_named(lab):
    job = Job(lab, two_hosts(lab), "--bytes", 200_000, "--compute-ms", 60, late=(2, 40),
              each=2).wait()
    with job.record("right") as record:
        same([row["rank"] for row in record.rows(
            "SELECT DISTINCT rank FROM collective WHERE source = ? ORDER BY rank", NCCL)], [2, 3],
             "ranks on the right host")
    verdict = job.diagnosis()["verdict"]
    same((verdict["class"], verdict["where"]["node"], verdict["where"]["rank"]),
         ("straggler", "right", 2), verdict)


def test_ranks_that_all_have_pid_1_are_told_apart(lab):
    job = Job(lab, two_hosts(lab), "--bytes", 40_000, "--compute-ms", 5, each=2,
              inside=("unshare", "--pid", "--fork"), first=10).wait()
    for name, ranks in (("left", [10, 11]), ("right", [12, 13])):
        with job.record(name) as record:
            found = record.rows("SELECT rank, count(*) AS count FROM collective WHERE source = ? "
                                "GROUP BY rank ORDER BY rank", NCCL)
            same([(row["rank"], row["count"]) for row in found],
                 [(rank, STEPS * BUCKETS) for rank in ranks], f"collectives by rank on {name}")


def test_without_the_plugin_nothing_is_set(lab):
    host = lab.host("left")
    run = Watched(host, ["sh", "-c", "echo plugin=$NCCL_PROFILER_PLUGIN folder=$CHOKEPOINT_NCCL"],
                  lab.folder / "run", ["--nccl", "off"]).wait()
    same(run.stdout(), "plugin= folder=\n", "what the job was given")


def test_another_profiler_is_handed_on_and_the_folder_goes_with_the_run(lab):
    host = lab.host("left")
    run = Watched(host, ["sh", "-c", "ls -d $CHOKEPOINT_NCCL; stat -c %a $CHOKEPOINT_NCCL; "
                                     "echo $CHOKEPOINT_NCCL_NEXT; echo $NCCL_PROFILER_PLUGIN"],
                  lab.folder / "run", environment={"NCCL_PROFILER_PLUGIN": "theirs"}).wait()
    folder, mode, following, plugin = run.stdout().split()
    same(mode, "700", "who may look into the folder")
    same(following, "theirs", "the profiler that the job had set")
    holds(plugin.endswith("/libnccl-profiler-chokepoint.so"), plugin)
    holds(not pathlib.Path(folder).exists(), f"{folder} is still there")
