"""Verbs between the machines by perftest's programs: proof that the machines are fit for our own."""

import perftest
from checks import holds, same

COUNT = 200


def test_every_operation_has_a_bandwidth(pair):
    for operation in ("write", "read", "send"):
        told = perftest.run(*pair, f"ib_{operation}_bw", "-n", COUNT, "-s", 4096)
        same((told["bytes"], told["iterations"]), (4096, COUNT), operation)
        holds(told["average_mbps"] > 0, told)


def test_every_operation_has_a_latency(pair):
    for operation in ("write", "read", "send", "atomic"):
        told = perftest.run(*pair, f"ib_{operation}_lat", "-n", COUNT)
        holds(0 < told["min_us"] <= told["typical_us"] <= told["max_us"], told)


def test_connections_are_made_by_rdma_cm_too(pair):
    perftest.run(*pair, "ib_write_bw", "-n", COUNT, "-R")


def test_ipv6_has_a_gid_of_its_own(pair):
    a, b = pair
    index = a.gids()["fd77:0000:0000:0000:0000:0000:0000:0001"]
    perftest.run(a, b, "ib_write_bw", "-n", COUNT, "-x", index)


def test_loss_on_the_wire_shows_in_the_counters_of_both_ends(pair):
    a, b = pair
    before = a.rdma_counters(), b.rdma_counters()
    with a.netem("loss", "1%"):
        perftest.run(a, b, "ib_write_bw", "-n", COUNT, "-s", 65536)
    after = a.rdma_counters(), b.rdma_counters()
    holds(after[1]["out_of_seq_request"] > before[1]["out_of_seq_request"],
          f"b saw no gap: {before[1]} {after[1]}")
    holds(after[0]["completer_retry_err"] > before[0]["completer_retry_err"],
          f"a sent nothing again: {before[0]} {after[0]}")


def test_a_tap_in_the_machine_sees_the_packets(pair):
    a, b = pair
    tap = a.start(["tcpdump", "-i", "eth0", "-c", 50, "-w", a.share / "tap.pcap", "-U",
                   "udp port 4791"])
    tap.until(lambda: "listening on" in tap.stderr(), 20, "tcpdump")
    perftest.run(a, b, "ib_write_bw", "-n", COUNT, "-s", 4096)
    same(tap.wait(20), 0, "tcpdump's exit status")
    told = a.output(["tcpdump", "-nr", a.share / "tap.pcap"])
    holds(f"{b.ipv4}.4791" in told, told[:500])
