"""chokepoint against stock iperf3 and nuttcp, on two hosts and by its own command line."""

import contextlib
import json
import re

import strangers
from checks import between, holds, same, soon
from lab import Skipped

IPERF3, NUTTCP = 5201, 5000


def hosts(lab, program, **link):
    lab.needs(program)
    client, server = lab.host("client"), lab.host("server")
    return client, server, lab.link(client, server, **link).b


def stock(server, program):
    words = {"iperf3": ["iperf3", "-s"], "nuttcp": ["nuttcp", "-S", "--nofork"]}[program]
    server.serve(words, IPERF3 if program == "iperf3" else NUTTCP)


def own(server, program, *words):
    return server.serve(["chokepoint", "serve", f"--{program}", "--insecure-open", *words],
                        IPERF3 if program == "iperf3" else NUTTCP)


def probe(client, kind, address, program, *words):
    return client.json(["chokepoint", "probe", kind, address, "--peer-program", program, "--json", *words])


def test_a_stock_iperf3_server_is_driven(lab):
    client, server, end = hosts(lab, "iperf3", rate_mbps=200)
    stock(server, "iperf3")
    told = probe(client, "tcp", end.ipv4, "iperf3", "--time", "1", "--streams", "2")
    same(told["schema"], "chokepoint.probe.tcp/1", "schema")
    same(told["peer"]["software"], "iperf3", "software")
    between(told["throughput_mbps"], 50, 200, "throughput")
    same(len(told["per_stream"]), 2, "streams")
    holds(told["cpu"]["receiver_percent"] is not None, "the receiver's CPU is told")


def test_a_stock_iperf3_server_is_driven_both_ways_over_ipv6(lab):
    client, server, end = hosts(lab, "iperf3")
    stock(server, "iperf3")
    told = probe(client, "tcp", end.ipv6, "iperf3", "--both", "--bytes", "20M")
    same(told["peer"]["family"], "ipv6", "family")
    for way in ("send", "receive"):
        holds(told[way]["bytes"] > 0, f"{way}: nothing arrived")
        same(told[way]["sent_bytes"], told[way]["received_bytes"], f"{way}: both ends' bytes")


def test_a_stock_iperf3_server_is_driven_over_udp(lab):
    client, server, end = hosts(lab, "iperf3")
    stock(server, "iperf3")
    told = probe(client, "udp", end.ipv4, "iperf3", "--time", "1", "--rate", "50M", "--receive")
    same(told["schema"], "chokepoint.probe.udp/1", "schema")
    between(told["throughput_mbps"], 12, 55, "throughput")
    between(told["packets_received"], 1, told["packets_sent"], "packets received of those sent")
    same(told["one_way_delay_ms"], None, "what iperf3 cannot tell")


def test_a_stock_nuttcp_server_is_driven(lab):
    client, server, end = hosts(lab, "nuttcp", rate_mbps=200, back_mbps=100)
    stock(server, "nuttcp")
    for way, rate in (("--send", 200), ("--receive", 100)):
        told = probe(client, "tcp", end.ipv4, "nuttcp", "--time", "1", way)
        same(told["peer"]["software"], "nuttcp 6.1.2", "software")
        between(told["throughput_mbps"], 0.25 * rate, rate, f"throughput by {way}")
    told = probe(client, "udp", end.ipv4, "nuttcp", "--time", "1", "--rate", "20M")
    between(told["throughput_mbps"], 5, 21, "throughput")
    between(told["packets_received"], 1, told["packets_sent"], "packets received of those sent")


def test_stock_iperf3_clients_are_served(lab):
    client, server, end = hosts(lab, "iperf3", rate_mbps=500)
    own(server, "iperf3")
    told = client.json(["iperf3", "-c", end.ipv4, "-J", "-t", "1", "-P", "3"])
    sent, received = (told["end"][f"sum_{side}"]["bytes"] for side in ("sent", "received"))
    # Where its streams are threads, a write that the end of the test cuts short is not in its count.
    between(received, sent, sent + 3 * 131_072, "bytes at both ends")
    told = client.json(["iperf3", "-c", end.ipv6, "-J", "-n", "5M", "-R"])
    holds(told["end"]["sum_received"]["bytes"] >= 5_000_000, "too little came from the server")


def iperf3_of_today(client):
    """The options of 3.21, which a distribution's iperf3 may not have: PATH names a newer one."""
    known = client.run(["iperf3", "--help"]).stdout()
    if missing := [option for option in ("--gsro", "--skip-rx-copy", "--mptcp") if option not in known]:
        raise Skipped(f"this iperf3 has no {missing[0]}")


def test_the_options_of_todays_iperf3_are_served(lab):
    client, server, end = hosts(lab, "iperf3", rate_mbps=500)
    iperf3_of_today(client)
    own(server, "iperf3")
    for words in (["-Z", "--skip-rx-copy", "--bidir"], ["-P", "64", "--bidir", "--cntl-ka"]):
        told = client.json(["iperf3", "-c", end.ipv4, "-J", "-n", "2M", *words])
        holds("error" not in told, f"{words}: {told.get('error')}")
    for words in ([], ["-R"], ["--bidir"]):
        told = client.json(["iperf3", "-c", end.ipv4, "-J", "-u", "--gsro", "-b", "5M", "-t", "1", *words])
        holds("error" not in told, f"{words}: {told.get('error')}")
        for name in ("sum_sent", "sum_received"):
            holds(told["end"][name]["packets"] > 0, f"{words}: {told['end'][name]}")
    lines = client.run(["iperf3", "-c", end.ipv4, "--json-stream", "-n", "1M"]).stdout().splitlines()
    same(json.loads(lines[-1])["event"], "end", "the last event")
    told = client.run(["iperf3", "-c", end.ipv4, "-J", "-m"], status=None).document()
    holds("protocol does not exist" in told["error"], told["error"])


def test_stock_nuttcp_clients_are_served(lab):
    client, server, end = hosts(lab, "nuttcp", rate_mbps=500)
    own(server, "nuttcp")
    for words in ([], ["-r"], ["-F", "-r"], ["-N3"]):
        told = client.run(["nuttcp", "-fparse", "-n160", *words, end.ipv4]).stdout()
        found = re.findall(r"megabytes=([0-9.]+)", told)
        holds(found and abs(float(found[-1]) - 10) < 0.001, f"nuttcp {words}: {told}")


BANNER = """
import socket
server = socket.create_server(("", 5201))
while True:
    connection, _ = server.accept()
    connection.sendall(b"SSH-2.0-nobody\\r\\n")
    connection.recv(1)
"""


def refuses_a_large_window(lab, program, words):
    client, server, end = hosts(lab, program)
    process = own(server, program, "--max-window", "1M")
    client.run([*words, end.ipv4], status=None)
    soon(lambda: "--window 64 MiB: the server grants" in process.told(), 10, "the refusal")


def test_the_largest_window_holds_for_iperf3(lab):
    refuses_a_large_window(lab, "iperf3", ["iperf3", "-t1", "-w64M", "-c"])


def test_the_largest_window_holds_for_nuttcp(lab):
    refuses_a_large_window(lab, "nuttcp", ["nuttcp", "-T1", "-w64m"])


def test_a_server_of_another_kind_is_named(lab):
    client, server = lab.host("client"), lab.host("server")
    end = lab.link(client, server).b
    server.serve(["python3", "-c", BANNER], IPERF3)
    for program in ("iperf3", "nuttcp"):
        process = client.run(["chokepoint", "probe", "tcp", f"{end.ipv4}:{IPERF3}", "--peer-program", program],
                             status=1)
        said = process.stderr().strip().splitlines()
        same(len(said), 1, f"lines of {said}")
        holds(said[0].startswith("chokepoint: probe tcp: ") and f"'{program} -" in said[0], said[0])


def test_a_busy_iperf3_server_is_named(lab):
    client, server, end = hosts(lab, "iperf3")
    stock(server, "iperf3")
    first = client.start(["iperf3", "-c", end.ipv4, "-t", "3", "-b", "1M"])
    soon(lambda: busy(client, end.ipv4), 10, "the server is busy")
    first.kill()


def busy(client, address):
    process = client.run(["chokepoint", "probe", "tcp", address, "--peer-program", "iperf3", "--bytes", "1K"],
                         status=None)
    return "it is busy with another test" in process.stderr()


def test_idle_and_hostile_connections_keep_nobody_out(lab):
    lab.needs("nuttcp")
    client, server, end = hosts(lab, "iperf3")
    process = own(server, "iperf3", "--nuttcp")
    with contextlib.ExitStack() as held:
        for port in (IPERF3, NUTTCP):
            for number in range(60):
                connection = held.enter_context(strangers.connect(client, end.ipv4, port))
                if number % 3 == 1:
                    connection.send(b"\x16\x03\x01\x02\x00\x01\x00")
                elif number % 3 == 2:
                    connection.send(b"GET / HTTP/1.1\r\nHost: nobody\r\n\r\n" + b"\xff" * 100)
        told = client.json(["iperf3", "-c", end.ipv4, "-J", "-n", "1M"])
        holds("error" not in told, json.dumps(told.get("error")))
        client.run(["nuttcp", "-n16", end.ipv4])
    holds(process.running(), "the server ended")


def test_without_a_key_the_ports_stay_on_loopback(lab):
    server = lab.host("server")
    process = server.run(["chokepoint", "serve", "--iperf3", "--bind", "0.0.0.0"], status=2)
    holds("--insecure-open" in process.stderr(), process.stderr())
    own_loopback = server.serve(["chokepoint", "serve", "--iperf3", "--nuttcp"], NUTTCP)
    holds(own_loopback.running(), "serve on loopback")
