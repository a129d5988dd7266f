"""chokepoint rdma between two machines when something is not as it should be: one line within seconds,
and nothing is left."""

import time

from checks import holds, same
from rdma_test import PORT, PROMPT_SECONDS, measured, nothing_left, refused, resources, serving


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
        measured(a, b, "write", "bw", "--iterations", 50)
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
            told = measured(a, b, "write", "bw", "--iterations", 50)
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
