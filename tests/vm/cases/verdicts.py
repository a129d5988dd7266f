"""What held RDMA training back, told from its record: loss, marked packets, nothing of both. And
whether counters and packets say the same of it."""

import contextlib
import sqlite3
import statistics

import training
from checks import holds, same
from training import Training

STEP_BYTES, COMPUTE_MS = 400_000, 60
STEPS = 20
SMALL = ("--bytes", STEP_BYTES, "--compute-ms", COMPUTE_MS)
ENDED = {"a": 0, "b": 0}


def diagnosed(pair, played):
    return pair[0].json(["chokepoint", "diagnose", played.records, "--json"])["verdict"]


def seen_by(node, played, column, sender):
    """The sum of a column over what this machine sent, by the packets that `node` saw."""
    with contextlib.closing(sqlite3.connect(f"file:{played.records / node}.db?mode=ro", uri=True)) as db:
        return db.execute(
            f"SELECT SUM({column}) FROM flow_total JOIN flow ON flow.id = flow_total.flow "
            "WHERE protocol = 'roce' AND direction = 0 AND a_address IN (?, ?)",
            (sender.ipv4, sender.ipv6)).fetchone()[0]


def near(found, wanted, what, share=0.02, few=3):
    holds(abs(found - wanted) <= max(few, share * wanted), f"{what}: {found}, and not {wanted}")


def unlimited_step_ms(pair):
    """How fast emulated machines are depends on the host."""
    played = training.play(pair, Training(seconds=4, options=SMALL), pair[0].share / "unlimited")
    same(played.statuses, ENDED, "exit statuses without a limit")
    return statistics.median(played.steps_ms["a"])


@contextlib.contextmanager
def fit_to_be_marked(machine):
    """rxe's own packets say that they are not."""
    machine.run(["modprobe", "-a", "sch_ingress", "cls_u32", "act_pedit", "act_csum", "sch_tbf",
                 "sch_red"])
    machine.tc("qdisc", "add", "dev", "eth0", "clsact")
    machine.tc("filter", "add", "dev", "eth0", "egress", "protocol", "ip", "u32", "match", "ip",
               "dport", "4791", "0xffff", "action", "pedit", "ex", "munge", "ip", "tos", "set", "2",
               "retain", "3", "pipe", "action", "csum", "ip4h")
    try:
        yield
    finally:
        machine.tc("qdisc", "del", "dev", "eth0", "clsact")


@contextlib.contextmanager
def marking_queue(machine, rate_kbit):
    """What leaves waits in a slow queue that marks."""
    rate = f"{rate_kbit:.0f}kbit"
    burst_bytes = max(32_000, rate_kbit * 1000 / 8 / 100)  # 10 ms: some ticks of the guest's timer
    machine.tc("qdisc", "add", "dev", "eth0", "root", "handle", "1:", "tbf", "rate", rate, "burst",
               f"{burst_bytes:.0f}", "limit", "4mb")
    machine.tc("qdisc", "add", "dev", "eth0", "parent", "1:1", "handle", "10:", "red", "limit",
               "4000000", "min", "10000", "max", "40000", "avpkt", "1000", "burst", "21",
               "bandwidth", rate, "probability", "0.1", "ecn")
    try:
        yield
    finally:
        machine.tc("qdisc", "del", "dev", "eth0", "root")


def test_loss_is_found_and_counters_agree_with_packets(pair):
    a, b = pair
    lossy = Training(seconds=8, options=SMALL, netem=("loss", "1%"))
    played = training.play(pair, lossy, a.share / "lossy")
    same(played.statuses, ENDED, "exit statuses")
    verdict = diagnosed(pair, played)
    same((verdict["class"], verdict["where"]["from"], verdict["where"]["to"]),
         ("rdma-loss", "a", "b"), "verdict")
    counted = played.counters
    holds(counted["b"]["out_of_seq_request"] > 20, counted)
    # rxe may drop what came again before it counts it.
    for node in ("a", "b"):
        near(seen_by(node, played, "duplicate_acks", b), counted["b"]["out_of_seq_request"],
             f"NAKs that {node} saw, and gaps that b counted")
        near(seen_by(node, played, "retransmitted_packets", b),
             counted["a"].get("duplicate_request", 0),  # not there where none came
             f"what b sent again as {node} saw it, and what came twice as a counted it",
             share=0.1, few=10)
    holds(seen_by("a", played, "retransmitted_packets", a) > counted["a"]["completer_retry_err"],
          "each time that a began to send again shows as packets")


def test_marked_packets_are_congestion_and_no_loss(pair):
    a, _ = pair
    step_ms = unlimited_step_ms(pair)
    seconds = max(8, 2 * step_ms / 1000 * STEPS)
    # Half of what the job sends over its whole step: the queue is full whenever the job runs.
    with fit_to_be_marked(a), marking_queue(a, STEP_BYTES * 8 / step_ms / 2):
        played = training.play(pair, Training(seconds=seconds, options=SMALL), a.share / "marked")
    same(played.statuses, ENDED, "exit statuses")
    verdict = diagnosed(pair, played)
    same((verdict["class"], verdict["cause"], verdict["where"]["from"], verdict["where"]["to"]),
         ("rdma-congestion", "ecn", "a", "b"), "verdict")
    marked = seen_by("b", played, "congestion_marks", a)
    holds(marked > 20, f"packets marked: {marked} of {seen_by('b', played, 'packets', a)}")
    near(seen_by("a", played, "congestion_marks", a), marked, "marks as a and b saw them")


def test_neither_is_found_where_there_is_neither(pair):
    played = training.play(pair, Training(seconds=6, options=SMALL), pair[0].share / "clean")
    same(played.statuses, ENDED, "exit statuses")
    verdict = diagnosed(pair, played)
    holds(verdict["class"] not in ("rdma-loss", "rdma-congestion"), verdict)
