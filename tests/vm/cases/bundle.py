"""A bond of which one member is bad: `probe paths` names it, with the flows that take it."""

import contextlib

from bond import LACP, address, bonded, rdma_devices, trouble
from checks import between, holds, same

MEMBERS = 4


@contextlib.contextmanager
def served(b):
    server = b.serve(["chokepoint", "serve", "--insecure-open", "--quiet"], port=5210)
    try:
        yield
    finally:
        server.stop()


def probe(a, b, *words):
    return a.json(["chokepoint", "probe", "paths", address(b), "--json", *words], timeout=120)


@contextlib.contextmanager
def ports_over(machine, device):
    """The source ports of the UDP flows that leave by this device meanwhile."""
    ports = set()
    capture = machine.start(["chokepoint", "capture", "-i", device, "--json", "udp"])
    capture.until(lambda: "listening on" in capture.stderr(), 30, "capture")
    yield ports
    capture.signal("INT")
    capture.wait(30)
    ports |= {flow["a"]["port"] for flow in capture.document()["flows"]
              if flow["a"]["address"] == address(machine)}


def one_finding(found, kind):
    same([(each["kind"], each["direction"]) for each in found["findings"]], [(kind, "send")],
         f"findings ({found['verdict']})")
    return found["findings"][0]


def test_a_member_of_a_lag_by_lacp_that_loses_is_named_with_its_ports(pair):
    a, b = pair
    with bonded(pair, MEMBERS, LACP), served(b), trouble(a, 2, "netem", "loss", "2%"), \
            ports_over(a, "member2") as ports:
        found = probe(a, b, "--no-trace")
    finding = one_finding(found, "loss")
    between(finding["loss_percent"], 1, 4, "loss")
    between(finding["share_percent"]["likely"], 10, 45, "share")
    named = set(finding["source_ports"])
    truth = ports & {flow["source_port"] for flow in found["flows"]}
    holds(named and named <= truth <= named | set(finding["unclear_source_ports"]), (named, truth))


def test_the_flow_label_of_a_queue_pair_is_its_source_port(pair):
    """And so its member: labels 1 and 2 leave by two of four."""
    a, b = pair
    with bonded(pair, MEMBERS), served(b):
        rdma_devices(pair)
        for label in (1, 2):
            with ports_over(a, "bond0") as ports:
                a.run(["chokepoint", "rdma", "write", "bw", address(b), "--device", "rxe-bond",
                       "--peer-device", "rxe-bond", "--bytes", 4096, "--iterations", 50,
                       "--flow-label", label], timeout=120)
            holds(0xC000 + label in ports, (label, ports))


def test_flow_labels_over_a_slow_member_are_named(pair):
    a, b = pair
    with bonded(pair, 2), served(b), trouble(a, 2, "tbf", "rate", "500kbit", "burst", "9k",
                                             "latency", "500ms"), \
            ports_over(a, "member2") as ports:
        rdma_devices(pair)
        # What is under way at once waits in the member's queue, for less than the acknowledgement's
        # timeout: nothing is retransmitted.
        found = a.json(["chokepoint", "rdma", "write", "bw", address(b), "--device", "rxe-bond",
                        "--peer-device", "rxe-bond", "--flows", 14, "--time", "200ms",
                        "--bytes", 4096, "--depth", 2, "--ack-timeout", 17, "--json"], timeout=240)
    same(found["verdict"], "found", f"verdict ({found['flows']})")
    slow = {port for finding in found["findings"] for port in finding["source_ports"]}
    same(slow, ports & {flow["source_port"] for flow in found["flows"]}, "source ports")
    between(found["findings"][0]["rate_mbps"], 0.1, 2, "rate")


def test_a_member_that_is_slow_is_named_with_its_ports(pair):
    a, b = pair
    with bonded(pair, 2), served(b), trouble(a, 2, "tbf", "rate", "10mbit", "burst", "32k",
                                             "latency", "50ms"):
        found = probe(a, b, "--protocol", "tcp", "--flows", "24", "--time", "8")
    finding = one_finding(found, "rate")
    between(finding["rate_mbps"], 3, 15, "rate")
    same(set(finding["source_ports"]),
         {flow["source_port"] for flow in found["flows"] if flow["rate_mbps"] < 30}, "source ports")
