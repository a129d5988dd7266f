"""chokepoint rdma between two machines: every operation over real verbs, and what it says when
something is not as it should be. Whatever goes wrong is one line within seconds, and leaves nothing.
"""

import contextlib
import json
import time

from checks import holds, same

PORT = 5210
PROMPT_SECONDS = 5
# What the emulated machines take for a program to start, and for a line to come through.
EMULATION_SECONDS = 4
OPERATIONS = {"write": "write", "read": "read", "send": "send", "atomic": "fetch_and_add"}


@contextlib.contextmanager
def serving(machine, *options):
    server = machine.serve(["chokepoint", "serve", *(options or ["--insecure-open"])], port=PORT)
    try:
        yield server
    finally:
        server.stop()


def test(a, b, *words, **how):
    """The document of a test from a to b."""
    return a.json(["chokepoint", "rdma", *words, b.ipv4, "--json"], **how)


def refused(a, b, *words, status=1):
    """The one line that it failed with, soon."""
    began = time.monotonic()
    done = a.run(["chokepoint", "rdma", *words, b.ipv4], status=status)
    holds(time.monotonic() - began < PROMPT_SECONDS + EMULATION_SECONDS,
          f"it took {time.monotonic() - began:.1f} s: {done.told()}")
    same(done.stdout(), "", "standard output")
    lines = [line for line in done.stderr().splitlines() if line]
    same(len(lines), 1, f"lines of {done.told()}")
    holds(lines[0].startswith(f"chokepoint: rdma {words[0]}: "), lines[0])
    return lines[0]


def resources(machine):
    return machine.output(["rdma", "resource", "show"])


@contextlib.contextmanager
def nothing_left(*machines):
    before = [resources(machine) for machine in machines]
    yield
    end = time.monotonic() + PROMPT_SECONDS
    while [resources(each) for each in machines] != before and time.monotonic() < end:
        time.sleep(0.2)
    same([resources(each) for each in machines], before, "resources of RDMA")


def test_every_operation_has_a_bandwidth(pair):
    a, b = pair
    with serving(b), nothing_left(a, b):
        for operation, name in OPERATIONS.items():
            told = test(a, b, operation, "bw", "--iterations", 200)
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
            latency = test(a, b, operation, "lat", "--iterations", 300)["latency_us"]
            same(latency["count"], 300, f"samples of {operation}")
            holds(0 < latency["min"] <= latency["median"] <= latency["p99"] <= latency["p999"]
                  <= latency["max"], latency)


def test_both_ways_and_several_queue_pairs(pair):
    a, b = pair
    with serving(b), nothing_left(a, b):
        for operation in ("write", "send"):
            told = test(a, b, operation, "bw", "--both", "--queue-pairs", 4, "--bytes", "4K",
                        "--iterations", 100)
            same(told["iterations"], 800, f"messages of {operation}, both ways")


def test_unconnected_and_unreliable_transports(pair):
    a, b = pair
    with serving(b):
        for transport, operation in (("uc", "write"), ("ud", "send"), ("uc", "send")):
            told = test(a, b, operation, "bw", "--transport", transport, "--bytes", 1024,
                        "--iterations", 200)
            same(told["transport"], transport.upper(), "transport")
            holds(told["average_mbps"] > 0, told)


def test_what_arrives_is_as_it_was_sent(pair):
    a, b = pair
    with serving(b):
        for operation in ("write", "read", "send"):
            told = test(a, b, operation, "bw", "--check", "--iterations", 200)
            same(told["mismatches"], 0, f"mismatches of {operation}")


def test_a_sweep_has_every_size(pair):
    a, b = pair
    with serving(b), nothing_left(a, b):
        told = test(a, b, "send", "bw", "--sweep", "--iterations", 20, timeout=120)
        same([each["message_bytes"] for each in told["sizes"]], [2**n for n in range(1, 24)],
             "sizes")
        same({each["iterations"] for each in told["sizes"]}, {20}, "messages of each size")
        same(told["average_mbps"], None, "of no size")


def test_connections_by_rdma_cm(pair):
    a, b = pair
    with serving(b), nothing_left(a, b):
        for words in (("write", "bw", "--queue-pairs", 2), ("send", "lat"), ("read", "bw")):
            told = test(a, b, *words, "--cm", "--iterations", 200)
            holds(told["by_cm"], told)


def test_ipv6_has_gids_of_its_own(pair):
    a, b = pair
    with serving(b):
        told = a.json(["chokepoint", "rdma", "write", "bw", b.ipv6, "--iterations", 100, "--json"])
        same([told["sides"][side]["gid"] for side in ("here", "there")], [a.ipv6, b.ipv6], "GIDs")


def test_loss_shows_in_the_counters_and_in_the_sentence(pair):
    a, b = pair
    with serving(b), a.netem("loss", "1%"):
        told = test(a, b, "write", "bw", "--iterations", 500)
        same(told["iterations"], 500, "messages")
        same(told["fabric"]["status"], "lost", told["fabric"]["summary"])


def test_the_user_may_end_it_and_keeps_what_was_measured(pair):
    a, b = pair
    with serving(b), nothing_left(a, b):
        program = a.start(["chokepoint", "rdma", "write", "bw", b.ipv4, "--time", 60, "--json"])
        program.until(lambda: "qp 2" in resources(a) or "qp 3" in resources(a), 20, "a queue pair")
        time.sleep(1)
        same(program.stop("INT", timeout=PROMPT_SECONDS + EMULATION_SECONDS), 130, "exit status")
        told = json.loads(program.stdout())
        holds(told["interrupted"] and told["iterations"] > 0, told)


def test_a_result_is_kept_where_asked_for(pair):
    a, b = pair
    with serving(b):
        test(a, b, "write", "bw", "--iterations", 50, "--record", "/run/record")
    shown = a.json(["chokepoint", "record", "show", "/run/record", "--json"])
    same([probe["kind"] for node in shown["nodes"] for probe in node["probes"]], ["rdma"], "kinds")


def test_a_threshold_that_is_missed_is_another_exit_status(pair):
    a, b = pair
    with serving(b):
        done = a.run(["chokepoint", "rdma", "write", "bw", b.ipv4, "--iterations", 50,
                      "--min-mbps", "1e9"], status=3)
        holds("Not enough" in done.stdout(), done.told())
        a.run(["chokepoint", "rdma", "write", "lat", b.ipv4, "--iterations", 50, "--max-us", "1e9"])


def kill_midway(pair, victim_of):
    """The survivor's end of a test whose other end is killed."""
    a, b = pair
    with nothing_left(a, b):
        server = b.serve(["chokepoint", "serve", "--insecure-open"], port=PORT)
        client = a.start(["chokepoint", "rdma", "write", "bw", b.ipv4, "--time", 60])
        client.until(lambda: "qp 2" in resources(a) or "qp 3" in resources(a), 20, "a queue pair")
        time.sleep(1)
        victim_of(client, server).signal("KILL")
        return client, server


def test_a_server_that_is_killed_midway_is_told_in_one_line(pair):
    client, server = kill_midway(pair, lambda _, server: server)
    same(client.wait(PROMPT_SECONDS), 1, "exit status")
    same(len(client.stderr().splitlines()), 1, client.told())
    holds("gone" in client.stderr(), client.told())


def test_a_client_that_is_killed_midway_leaves_the_server_as_it_was(pair):
    client, server = kill_midway(pair, lambda client, _: client)
    server.until(lambda: "gone" in server.stderr(), PROMPT_SECONDS, "word of it")
    a, b = pair
    with nothing_left(a, b):
        test(a, b, "write", "bw", "--iterations", 50)
    server.stop()


def test_a_wrong_key_is_refused(pair):
    a, b = pair
    for machine in pair:
        machine.run(["sh", "-c", f"umask 077; echo {machine.name} | sha256sum >/run/key"])
    with serving(b, "--key-file", "/run/key"):
        told = refused(a, b, "write", "bw", "--key-file", "/run/key")
        holds("key" in told, told)
        holds("key" in refused(a, b, "write", "bw"), "without a key")


def test_options_that_do_not_fit_are_explained(pair):
    a, b = pair
    gids = a.gids()
    ipv4 = next(index for gid, index in gids.items() if "ffff:0a4d" in gid)
    ipv6 = next(index for gid, index in gids.items() if gid.startswith("fd77"))
    with serving(b):
        told = refused(a, b, "write", "bw", "--gid-index", ipv4, "--peer-gid-index", ipv6)
        holds("families differ" in told, told)
        told = refused(a, b, "write", "bw", "--gid-index", 200, status=2)
        holds("GID index 200" in told and a.ipv4 in told, told)
        told = refused(a, b, "write", "bw", "--peer-gid-index", 200, status=2)
        holds("GID index 200" in told and b.ipv4 in told, told)
        told = refused(a, b, "write", "bw", "--roce", "v1")
        holds("RoCE v1" in told, told)
        told = refused(a, b, "write", "bw", "--peer-device", "mlx5_7")
        holds("mlx5_7" in told and "rxe0" in told, told)
        told = refused(a, b, "write", "bw", "--depth", 65536, status=2)
        holds("--depth 65536" in told, told)


def test_an_mtu_that_one_side_lacks_is_refused_and_the_usual_one_is_lowered(pair):
    a, b = pair
    b.run(["ip", "link", "set", "eth0", "mtu", "1500"])
    try:
        with serving(b):
            told = refused(a, b, "write", "bw", "--mtu", 4096, status=2)
            holds("--mtu 4096" in told and "1024" in told, told)
            told = test(a, b, "write", "bw", "--iterations", 50)
            same((told["mtu_bytes"], len(told["lowered"])), (1024, 1), "MTU, and what was lowered")
    finally:
        b.run(["ip", "link", "set", "eth0", "mtu", "9000"])


def test_a_port_that_is_down_is_told_with_the_command_that_mends_it(pair):
    a, b = pair
    a.run(["ip", "link", "add", "idle", "type", "dummy"])
    a.run(["rdma", "link", "add", "rxe1", "type", "rxe", "netdev", "idle"])
    try:
        with serving(b):
            told = refused(a, b, "write", "bw", "--device", "rxe1")
            holds("rxe1 port 1" in told and "ip link set idle up" in told, told)
    finally:
        a.run(["rdma", "link", "delete", "rxe1"])
        a.run(["ip", "link", "delete", "idle"])


def test_a_host_without_a_device_says_so_on_either_side(pair):
    a, b = pair
    for without in pair:
        without.run(["rdma", "link", "delete", "rxe0"])
        try:
            with serving(b):
                told = refused(a, b, "write", "bw")
                holds("no RDMA device" in told, told)
                same(b.ipv4 in told, without is b, f"whose: {told}")
        finally:
            without.run(["rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "eth0"])


def test_memory_that_must_not_be_locked_is_told(pair):
    a, b = pair
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    with serving(b):
        done = a.run(["sh", "-c", 'ulimit -l 64; exec "$@"', "sh", *user, "chokepoint", "rdma",
                      "write", "bw", b.ipv4, "--bytes", "1M"], status=1)
        holds("ulimit -l" in done.stderr() or "memlock" in done.stderr(), done.told())
        same(len(done.stderr().splitlines()), 1, done.told())
