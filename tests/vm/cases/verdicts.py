"""What held RDMA training back, told from its record: loss, marked packets, nothing of both. And
whether counters and packets say the same of it."""

import contextlib
import sqlite3

import training
from checks import holds, same
from training import Training

SMALL = ("--bytes", 400_000, "--compute-ms", 60)
ENDED = {"a": 0, "b": 0}
RATE = "40mbit"


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


@contextlib.contextmanager
def marking_queue(machine):
    """RoCE leaves through a slow queue that marks; rxe itself leaves packets unfit to be marked."""
    machine.run(["modprobe", "-a", "sch_ingress", "cls_u32", "act_pedit", "act_csum", "sch_tbf",
                 "sch_red"])
    machine.tc("qdisc", "add", "dev", "eth0", "clsact")
    machine.tc("filter", "add", "dev", "eth0", "egress", "protocol", "ip", "u32", "match", "ip",
               "dport", "4791", "0xffff", "action", "pedit", "ex", "munge", "ip", "tos", "set", "2",
               "retain", "3", "pipe", "action", "csum", "ip4h")
    machine.tc("qdisc", "add", "dev", "eth0", "root", "handle", "1:", "tbf", "rate", RATE, "burst",
               "32kb", "limit", "4mb")
    machine.tc("qdisc", "add", "dev", "eth0", "parent", "1:1", "handle", "10:", "red", "limit",
               "4000000", "min", "10000", "max", "40000", "avpkt", "1000", "burst", "21",
               "bandwidth", RATE, "probability", "0.1", "ecn")
    try:
        yield
    finally:
        machine.tc("qdisc", "del", "dev", "eth0", "root")
        machine.tc("qdisc", "del", "dev", "eth0", "clsact")


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
        near(seen_by(node, played, "retransmitted_packets", b), counted["a"]["duplicate_request"],
             f"what b sent again as {node} saw it, and what came twice as a counted it",
             share=0.1, few=10)
    holds(seen_by("a", played, "retransmitted_packets", a) > counted["a"]["completer_retry_err"],
          "each time that a began to send again shows as packets")


def test_marked_packets_are_congestion_and_no_loss(pair):
    a, _ = pair
    with marking_queue(a):
        played = training.play(pair, Training(seconds=8, options=SMALL), a.share / "marked")
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
