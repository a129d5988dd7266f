"""64 ranks of a large model on NCCL, as its profiler plugin tells of them: 4 hosts of 16, each rank in
a world, a tensor's, a data, a pipeline's and a model's communicator."""

from checks import between, holds, same
from grid import Grid

NCCL = 2
SEND, RECEIVE = 10, 11
RANKS, EACH = 64, 16
STEPS, BATCHES = 30, 4
COLLECTIVES = 1 + STEPS * (2 * BATCHES + 2 + 1)  # of a rank: world; tensor, data, model
MESSAGES = STEPS * 2 * BATCHES
MEMORY_BYTES = 150e6
RECORD_BYTES = 40e6


def is_whole(played):
    """Every rank told of all it did, nothing was lost, and watching stayed small."""
    ranks = set()
    for host in played.runs:
        with played.record(host) as record:
            same(record.rows("SELECT * FROM event WHERE kind = 'dropped'"), [], "losses")
            counts = record.rows("SELECT rank, count(*) AS count, count(DISTINCT communicator) AS "
                                 "communicators FROM collective WHERE source = ? GROUP BY rank",
                                 NCCL)
            for row in counts:
                same((row["count"], row["communicators"]), (COLLECTIVES + MESSAGES, 5),
                     f"collectives and messages of rank {row['rank']}, its communicators")
            ranks |= {row["rank"] for row in counts}
            between(record.value("SELECT max(value) FROM gauge_sample JOIN series ON series.id = "
                                 "series WHERE name = 'chokepoint.memory_bytes'"),
                    0, MEMORY_BYTES, f"bytes of memory that watching took on {host}")
        between((played.out / f"{host}.db").stat().st_size, 0, RECORD_BYTES, f"{host}'s record")
    same(sorted(ranks), list(range(RANKS)), "ranks")


def measure_of_64_ranks_the_late_one_is_named(lab):
    played = Grid(lab).play("late", steps=STEPS, late_rank=37, late_ms=120).wait()
    is_whole(played)
    verdict = played.diagnosis()["verdict"]
    same((verdict["class"], verdict["where"]["node"], verdict["where"]["rank"]),
         ("straggler", "host3", 37), verdict)


def measure_of_four_hosts_the_one_with_the_narrow_link_is_named(lab):
    grid = Grid(lab)
    grid.limit("host2", 100)
    played = grid.play("narrow", steps=STEPS, bytes=400_000).wait()
    is_whole(played)
    verdict = played.diagnosis()["verdict"]
    same((verdict["class"], verdict["where"]["from"]), ("lan-bandwidth", "host2"), verdict)


# As with NCCL 2.30 and later, whose kernels report nothing unless they are asked to.
WITHOUT_KERNELS = {"CHOKEPOINT_NCCL_EVENTS": "proxies,steps"}


def measure_without_kernels_who_keeps_others_data_waiting_is_named(lab):
    """Rank 4 sends to nobody on another host: when it came shows in what it received before."""
    played = Grid(lab, each=2).play("late", tensor=1, pipeline=1, steps=20, late_rank=4, late_ms=80,
                                    environment=WITHOUT_KERNELS).wait()
    verdict = played.diagnosis()["verdict"]
    same((verdict["class"], verdict["where"]["node"], verdict["where"]["rank"]),
         ("straggler", "host3", 4), verdict)


def measure_without_kernels_of_ranks_that_wait_for_each_other_their_host_is_named(lab):
    played = Grid(lab, each=2).play("late", tensor=2, steps=20, late_rank=5, late_ms=80,
                                    environment=WITHOUT_KERNELS).wait()
    verdict = played.diagnosis()["verdict"]
    same((verdict["class"], verdict["cause"], verdict["where"]["node"], verdict["where"]["rank"]),
         ("straggler", "late-group", "host3", None), verdict)
    holds(verdict["evidence"][0]["what"].startswith("ranks 4, 5 come late together"), verdict)


def measure_without_kernels_a_rank_of_which_nothing_is_told_is_not_taken_for_computing(lab):
    """Rank 5 exchanges inside its host alone."""
    played = Grid(lab, hosts=2, each=4).play("late", tensor=1, pipeline=1, steps=20, late_rank=5,
                                             late_ms=120, environment=WITHOUT_KERNELS).wait()
    verdict = played.diagnosis()["verdict"]
    same(verdict["class"], "unknown", verdict)
    holds("ranks 1, 2, 5, 6" in verdict["evidence"][0]["what"], verdict)


def test_both_ends_of_a_message_have_its_number_in_namespaces_of_their_own(lab):
    """All ranks have PID 1. A message is as long as its number says, whoever sends it."""
    played = Grid(lab, hosts=2, each=4).play(
        "run", inside=("unshare", "--pid", "--fork"), tensor=2, steps=20, forward_ms=3,
        longer=4).wait()
    ends = {SEND: set(), RECEIVE: set()}
    for host in played.runs:
        with played.record(host) as record:
            same(record.value("SELECT count(DISTINCT rank) FROM collective WHERE source = ?", NCCL),
                 4, f"ranks on {host}")
            for row in record.rows("SELECT kind, communicator, number, bytes FROM collective "
                                   "WHERE kind IN (?, ?)", SEND, RECEIVE):
                same(row["bytes"], 20_000 + 4 * (row["number"] & 0xffffffff), f"bytes of {row}")
                ends[row["kind"]].add((row["communicator"], row["number"]))
    same(ends[SEND], ends[RECEIVE], "messages sent, and received")
    holds(len(ends[SEND]) == 4 * 20 * 2 * BATCHES, f"{len(ends[SEND])} messages")
