"""chokepoint rdma between two machines: every operation over real verbs."""

import time

from checks import holds, same
from rdma_test import (EMULATION_SECONDS, PROMPT_SECONDS, measured, nothing_left, resources, serving)

OPERATIONS = {"write": "write", "read": "read", "send": "send", "atomic": "fetch_and_add"}


def test_every_operation_has_a_bandwidth(pair):
    a, b = pair
    with serving(b), nothing_left(a, b):
        for operation, name in OPERATIONS.items():
            told = measured(a, b, operation, "bw", "--iterations", 200)
            same((told["schema"], told["operation"], told["metric"]),
                 ("chokepoint.rdma/1", name, "bw"), "what was measured")
            same(told["iterations"], 200, f"messages of {operation}")
            holds(0 < told["average_mbps"] and told["latency_us"] is None, told)
            same((told["device"], told["mtu_bytes"]), ("rxe0", 4096), "device and MTU")
            same([told["sides"][side]["gid"] for side in ("here", "there")], [a.ipv4, b.ipv4],
                 "GIDs")


def test_every_operation_has_a_latency(pair):
    a, b = pair
    with serving(b):
        for operation in OPERATIONS:
            latency = measured(a, b, operation, "lat", "--iterations", 300)["latency_us"]
            same(latency["count"], 300, f"samples of {operation}")
            holds(0 < latency["min"] <= latency["median"] <= latency["p99"] <= latency["p999"]
                  <= latency["max"], latency)


def test_both_ways_and_several_queue_pairs(pair):
    a, b = pair
    with serving(b), nothing_left(a, b):
        for operation in ("write", "send"):
            told = measured(a, b, operation, "bw", "--both", "--queue-pairs", 4, "--bytes", "4K",
                        "--iterations", 100)
            same(told["iterations"], 800, f"messages of {operation}, both ways")


def test_unconnected_and_unreliable_transports(pair):
    a, b = pair
    with serving(b):
        for transport, operation in (("uc", "write"), ("ud", "send"), ("uc", "send")):
            told = measured(a, b, operation, "bw", "--transport", transport, "--bytes", 1024,
                        "--iterations", 200)
            same(told["transport"], transport.upper(), "transport")
            holds(told["average_mbps"] > 0, told)


def test_what_arrives_is_as_it_was_sent(pair):
    a, b = pair
    with serving(b):
        for operation in ("write", "read", "send"):
            told = measured(a, b, operation, "bw", "--check", "--iterations", 200)
            same(told["mismatches"], 0, f"mismatches of {operation}")


def test_a_sweep_has_every_size(pair):
    a, b = pair
    with serving(b), nothing_left(a, b):
        told = measured(a, b, "send", "bw", "--sweep", "--iterations", 20, timeout=120)
        same([each["message_bytes"] for each in told["sizes"]], [2**n for n in range(1, 24)],
             "sizes")
        same({each["iterations"] for each in told["sizes"]}, {20}, "messages of each size")
        same(told["average_mbps"], None, "of no size")


def test_connections_by_rdma_cm(pair):
    a, b = pair
    with serving(b):
        # The library that does it keeps each device open from its first use on.
        measured(a, b, "write", "bw", "--cm", "--iterations", 10)
        with nothing_left(a, b):
            for words in (("write", "bw", "--queue-pairs", 2), ("send", "lat"), ("read", "bw")):
                told = measured(a, b, *words, "--cm", "--iterations", 200)
                holds(told["by_cm"], told)


def test_ipv6_has_gids_of_its_own(pair):
    a, b = pair
    with serving(b):
        told = a.json(["chokepoint", "rdma", "write", "bw", b.ipv6, "--iterations", 100, "--json"])
        same([told["sides"][side]["gid"] for side in ("here", "there")], [a.ipv6, b.ipv6], "GIDs")


def test_loss_shows_in_the_counters_and_in_the_sentence(pair):
    a, b = pair
    with serving(b), a.netem("loss", "1%"):
        told = measured(a, b, "write", "bw", "--iterations", 500)
        same(told["iterations"], 500, "messages")
        same(told["fabric"]["status"], "lost", told["fabric"]["summary"])


def test_the_user_may_end_it_and_keeps_what_was_measured(pair):
    a, b = pair
    with serving(b), nothing_left(a, b):
        program = a.start(["chokepoint", "rdma", "write", "bw", b.ipv4, "--time", 60, "--json"])
        program.until(lambda: "qp 2" in resources(a) or "qp 3" in resources(a), 20, "a queue pair")
        time.sleep(1)
        same(program.stop("INT", timeout=PROMPT_SECONDS + EMULATION_SECONDS), 130, "exit status")
        told = program.document()
        holds(told["interrupted"] and told["iterations"] > 0, told)


def test_a_result_is_kept_where_asked_for(pair):
    a, b = pair
    with serving(b):
        measured(a, b, "write", "bw", "--iterations", 50, "--record", "/run/record")
    shown = a.json(["chokepoint", "record", "show", "/run/record", "--json"])
    same([probe["kind"] for node in shown["nodes"] for probe in node["probes"]], ["rdma"], "kinds")


def test_a_threshold_that_is_missed_is_another_exit_status(pair):
    a, b = pair
    with serving(b):
        done = a.run(["chokepoint", "rdma", "write", "bw", b.ipv4, "--iterations", 50,
                      "--min-mbps", "1e9"], status=3)
        holds("Threshold missed" in done.stdout(), done.told())
        a.run(["chokepoint", "rdma", "write", "lat", b.ipv4, "--iterations", 50, "--max-us", "1e9"])
