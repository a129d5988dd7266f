"""What `chokepoint run` writes of a job's traffic, held against what the interfaces, the kernels
and the job itself counted."""

import contextlib
import pathlib
import resource
import statistics

import cgroups
from checks import between, holds, near, same
from lab import Way
from watched import Both, Record, exchange, truth_of

# What a segment of 1448 bytes costs in headers, and its share of an acknowledgement.
LEAST_ON_THE_WIRE, MOST_ON_THE_WIRE = 1.04, 1.09
MEGABYTE = 1_000_000
OUTPUT = 2
CGROUPS = pathlib.Path("/sys/fs/cgroup")
STEP_LINE = r"step (?P<step>\d+) loss"
STEP_OFF_MS = 20


def pair(lab, rate_mbps=500):
    """Without offloads a frame on the interface is a frame on the wire."""
    left, right = lab.host("left"), lab.host("right")
    link = lab.link(left, right, rate_mbps)
    link.offload(False)
    return left, right, link


def volume_as_the_interface_says(job, end, before, share=0.01):
    """What the record has for the job, sent and received, where nobody else is on the link."""
    after = end.counters()
    with job.record(end.host) as record:
        volume = record.volumes()[end.interface]
    for told, way in zip(volume, ("sent_bytes", "received_bytes")):
        near(told, after[way] - before[way], share, f"{way} of {end.host.name}")
    return volume


def test_the_volume_is_the_interfaces(lab):
    left, right, link = pair(lab)
    before = [end.counters() for end in (link.a, link.b)]
    job = Both(lab, link, "--steps", 20, "--bytes", 2 * MEGABYTE).wait()
    (sent, received), (sent_back, received_back) = [
        volume_as_the_interface_says(job, end, counters)
        for end, counters in zip((link.a, link.b), before)]
    near(sent, received_back, 0.002, "sent by left, as right received it")
    near(sent_back, received, 0.002, "sent by right, as left received it")


def test_a_strangers_traffic_is_not_the_jobs(lab):
    left, right, link = pair(lab)
    strangers = [right.start(exchange("listen", link.b.ipv4, 6000, "--steps", 30, "--bytes",
                                      3 * MEGABYTE)),
                 left.start(exchange("connect", link.b.ipv4, 6000, "--steps", 30, "--bytes",
                                     3 * MEGABYTE))]
    job = Both(lab, link, "--steps", 20, "--bytes", MEGABYTE).wait()
    for stranger in strangers:
        same(stranger.wait(60), 0, "the stranger's end")
    for host, end in ((left, link.a), (right, link.b)):
        with job.record(host) as record:
            for bytes_told, way in zip(record.volumes()[end.interface], ("sent", "received")):
                between(bytes_told / (20 * MEGABYTE), LEAST_ON_THE_WIRE, MOST_ON_THE_WIRE,
                        f"{way} by {host.name}, over the job's payload")
            ports = {flow["local"][1] for flow in record.job_flows()} | {
                flow["peer"][1] for flow in record.job_flows()}
            holds(6000 not in ports, "the stranger's connection is called the job's")


def test_first_handshakes_are_seen(lab):
    """The window scale is told in them alone."""
    left, right, link = pair(lab)
    job = Both(lab, link, "--steps", 30, "--rest", 0.05, "--connections", 8).wait()
    for host in (left, right):
        with job.record(host) as record:
            flows = record.job_flows()
            same(len(flows), 8, f"connections of {host.name}")
            same([flow["handshake_seen"] for flow in flows], [1] * 8, f"handshakes of {host.name}")
            unknown = record.value("SELECT count(*) FROM flow_total JOIN flow ON flow.id = flow "
                                   "WHERE process IS NOT NULL AND window_scale IS NULL")
            same(unknown, 0, "directions without a window scale")


def measure_steps_are_those_that_the_job_prints(lab):
    left, _, link = pair(lab)
    job = Both(lab, link, "--steps", 30, "--rest", 0.05, "--bytes", MEGABYTE,
               options=("--step-regex", STEP_LINE, "--samples-per-step", 64)).wait()
    with job.record(left) as record:
        steps = record.steps(OUTPUT)
    truth = {number + 1: step for number, step in enumerate(job.truth(left)["steps"])}
    between(len(steps), 29, 30, "steps in the record")
    same([step["number"] for step in steps], sorted(truth)[-len(steps):], "their numbers")
    same({step["samples"] for step in steps}, {64}, "samples a step")
    off_ms = [abs(step["end_ns"] - truth[step["number"]][1]) / 1e6 for step in steps]
    between(statistics.median(off_ms), 0, STEP_OFF_MS, "median of ms between both ends of a step")


def test_retransmissions_agree(lab):
    """The packets', tcp_info's in the record, and what the job's own socket said."""
    left, right = lab.host("left"), lab.host("right")
    lost = tuple(range(40, 2000, 97))
    wire = lab.wire(left, right, Way(300, 2, drop=lost), Way(300, 2))
    job = Both(lab, wire, "--steps", 20, "--bytes", 300_000, "--one-way", "--rest", 0.1).wait()
    same(wire.counters()["there"]["dropped_by_order"], len(lost), "frames that were lost")
    told = job.truth(left)["sockets"][0]
    holds(told["retransmitted"] >= len(lost), f"the kernel sent {told} again")
    with job.record(left) as record:
        flow = record.job_flows()[0]
        by_socket = record.value("SELECT max(retransmits) FROM socket_sample WHERE flow = ? "
                                 "AND direction = ?", flow["id"], flow["sends"])
        by_packets = record.value("SELECT sum(retransmitted_packets) FROM flow_sample "
                                  "WHERE flow = ? AND direction = ?", flow["id"], flow["sends"])
        in_total = record.value("SELECT retransmitted_packets FROM flow_total WHERE flow = ? "
                                "AND direction = ?", flow["id"], flow["sends"])
    same({"sockets": by_socket, "packets": by_packets, "total": in_total},
         dict.fromkeys(("sockets", "packets", "total"), told["retransmitted"]), "retransmitted")


def test_two_thousand_connections(lab):
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
    left, right, link = pair(lab)
    job = Both(lab, link, "--connections", 2000, "--steps", 20, "--bytes", 2 * MEGABYTE).wait()
    for host, end in ((left, link.a), (right, link.b)):
        with job.record(host) as record:
            ends = {(flow["local"], flow["peer"]) for flow in record.job_flows()}
            same(len(ends), 2000, f"connections of {host.name}")
            same(len(record.job_flows()), 2000, f"rows of them on {host.name}")
            between(record.volumes()[end.interface][0] / (40 * MEGABYTE), 1.0, 1.25,
                    f"sent by {host.name}, over the job's payload")


def test_connections_that_are_made_anew_each_step(lab):
    left, right, link = pair(lab)
    before = [end.counters() for end in (link.a, link.b)]
    job = Both(lab, link, "--connections", 4, "--steps", 30, "--reopen", "--bytes",
               MEGABYTE).wait()
    for end, counters in zip((link.a, link.b), before):
        volume_as_the_interface_says(job, end, counters, 0.02)
        with job.record(end.host) as record:
            flows = record.rows("SELECT a_port + b_port AS ports FROM flow WHERE protocol = 'tcp'")
        same(len({flow["ports"] for flow in flows}), 120, f"connections of {end.host.name}")


def test_connections_have_their_process(lab):
    left, _, link = pair(lab)
    job = Both(lab, link, "--steps", 30, "--rest", 0.05, "--connections", 3).wait()
    with job.record(left) as record:
        commands = [row["command"] for row in record.rows(
            "SELECT command FROM process WHERE id IN (SELECT process FROM flow)")]
        same({flow["interface"] for flow in record.job_flows()}, {link.a.interface}, "interfaces")
        known = {tuple(one["local"]) for one in job.truth(left)["sockets"]}
        same({flow["local"] for flow in record.job_flows()}, known, "their local ends")
    holds(len(commands) == 1 and "exchange.py" in commands[0], f"processes: {commands}")


def test_a_process_that_runs_already(lab):
    watched_later(lab, lambda job: ["--pid", job.pid])


def test_a_cgroup_whose_job_runs_already(lab):
    group = cgroups.Group(cgroups.second_version() or cgroups.first_version("pids"), "job")

    def joined(job):
        group.take(job.pid)
        return ["--cgroup", f"/{group.folder.name}"]

    with contextlib.closing(group):
        watched_later(lab, joined, seeing(group.parent))


def watched_later(lab, chosen, before=()):
    """Half of the job's time is over when somebody begins to watch it; that ends with the job."""
    left, right, link = pair(lab)
    words = ("--steps", 60, "--bytes", MEGABYTE, "--rest", 0.05)
    truth = lab.folder / "truth"
    right.serve(exchange("listen", link.b.ipv4, 5000, *words), 5000)
    job = left.start(exchange("connect", link.b.ipv4, 5000, "--truth", truth, *words))
    job.until(lambda: "step 10 " in job.stdout(), 20, "the tenth step")
    watcher = left.start([*before, "chokepoint", "run", "--out", lab.folder / "run", "--node",
                          "left", *chosen(job)])
    same(watcher.wait(30), 0, f"exit status, {watcher.told()}")
    same(job.wait(5), 0, "the job's own")
    with Record.of(lab.folder / "run", "left") as record:
        holds(record.is_complete(), "the record was not ended")
        sent = record.volumes()[link.a.interface][0]
        same(len(record.job_flows()), 1, "connections of the job")
    between(sent / MEGABYTE, 30, 60 * MOST_ON_THE_WIRE, "megabytes sent since then")
    same(len(truth_of(truth)["steps"]), 60, "steps of the job")


def seeing(hierarchy):
    """A host of the lab has a /sys of its own, without what is mounted below."""
    if hierarchy == CGROUPS:
        mount = f"mount -t cgroup2 lab {CGROUPS}"
    else:
        kind = "-t cgroup2" if hierarchy == cgroups.second_version() else \
            f"-t cgroup -o {hierarchy.name}"
        mount = f"mount -t tmpfs lab {CGROUPS} && mkdir {hierarchy} && " \
                f"mount {kind} lab {hierarchy}"
    return ["sh", "-c", f'{mount} && exec "$@"', "sh"]
