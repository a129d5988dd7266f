"""The lab itself: hosts, their links and that nothing of them stays."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import namespaces
import traffic
from checks import between, holds, same, soon
from lab import Failed, Lab

FRAME_SHARE = 1448 / 1514  # of TCP's payload in an Ethernet frame, with timestamps


def pair(lab, **link):
    left, right = lab.host("left"), lab.host("right")
    return left, right, lab.link(left, right, **link)


def test_a_host_has_its_own_name_and_interfaces(lab):
    left, _, link = pair(lab)
    same(left.run(["cat", "/proc/sys/kernel/hostname"]).stdout().strip(), "left", "host name")
    interfaces = set(left.run(["ls", "/sys/class/net"]).stdout().split())
    same(interfaces, {"lo", link.a.interface}, "interfaces")
    same(left.sysctl("net.ipv4.tcp_congestion_control"), "cubic", "congestion control")


def test_both_families_answer_from_the_first_packet(lab):
    left, right, link = pair(lab)
    for near, far in ((link.a.ipv4, link.b.ipv4), (link.a.ipv6, link.b.ipv6)):
        with traffic.bound(left, near) as sender, traffic.bound(right, far) as receiver:
            receiver.settimeout(0.5)
            sender.sendto(b"first", receiver.getsockname()[:2])
            same(receiver.recv(16), b"first", f"from {near}")


def measure_a_token_bucket_holds_its_rate_each_way(lab):
    left, right, link = pair(lab, rate_mbps=200, back_mbps=50)
    lab.needs("iperf3")
    right.serve(["iperf3", "-s"], port=5201)
    for words, rate in ((["-t", "1"], 200), (["-t", "1", "-R"], 50)):
        told = left.json(["iperf3", "-c", link.b.ipv4, "-J", *words])
        goodput = told["end"]["sum_received"]["bits_per_second"] / 1e6
        between(goodput, 0.85 * rate * FRAME_SHARE, 1.03 * rate * FRAME_SHARE, f"of {rate} Mb/s")


def test_counters_show_what_passed(lab):
    left, right, link = pair(lab)
    before = link.b.counters()
    with traffic.bound(left, link.a.ipv4) as sender, traffic.bound(right, link.b.ipv4) as receiver:
        same(traffic.datagrams(sender, receiver, 100), list(range(100)), "datagrams")
    after = link.b.counters()
    between(after["received_packets"] - before["received_packets"], 100, 110, "packets")
    between(after["received_bytes"] - before["received_bytes"], 104_200, 105_500, "bytes")


def test_a_chain_is_as_long_as_asked_in_both_families(lab):
    left, right = lab.host("left"), lab.host("right")
    chained = lab.chain(left, right, routers=3)
    lab.needs("traceroute")
    for address in (chained[-1].b.ipv4, chained[-1].b.ipv6):
        told = left.run(["traceroute", "-n", "-q1", "-w2", address]).stdout().splitlines()[1:]
        same(len(told), 4, f"hops to {address}")
        same(told[-1].split()[1], address, "the last hop")


def test_a_process_ends_with_all_it_started(lab):
    left = lab.host("left")
    process = left.start(["sh", "-c", "sleep 100 & setsid sleep 100 & wait"])
    soon(lambda: len(left.pids()) == 3, 5, "three processes")
    process.kill()
    soon(lambda: not left.pids(), 5, "no process")


def test_a_program_that_hangs_or_fails_is_told_of(lab):
    left = lab.host("left")
    for words, told in ((["sleep", "100"], "still running"), (["false"], "exit status 1")):
        try:
            left.run(words, timeout=1)
        except Failed as failure:
            holds(told in str(failure), f"{words}: {failure}")
        else:
            raise Failed(f"{words} passed")


def test_a_closed_lab_leaves_nothing(lab):
    with Lab() as other:
        host = other.host("brief")
        daemon = host.start(["sh", "-c", "setsid sleep 100 & exit 0"])
        daemon.wait(5)
        left_by_its_parent = host.pids()
        same(len(left_by_its_parent), 1, "daemons")
    holds(not (namespaces.NAMESPACES / host.namespace).exists(), f"{host.namespace} is still there")
    holds(not other.folder.exists(), f"{other.folder} is still there")
    soon(lambda: namespaces.start_of(left_by_its_parent[0]) is None, 5, "the daemon is gone")


OWNER = """
import sys, time
from lab import Lab
with Lab() as lab:
    host = lab.host("orphan")
    host.start(["sh", "-c", "setsid sleep 100 & exec sleep 100"])
    print(host.namespace, flush=True)
    time.sleep(100)
"""


def test_what_a_killed_lab_left_is_swept(lab):
    folder = pathlib.Path(__file__).parents[1]
    owner = subprocess.Popen([sys.executable, "-B", "-c", OWNER], stdout=subprocess.PIPE, text=True,
                             env=dict(os.environ, PYTHONPATH=str(folder)))
    namespace = owner.stdout.readline().strip()
    owner.kill()
    owner.wait()
    left = namespaces.NAMESPACES / namespace
    holds(left.exists(), "the killed lab left no namespace to sweep")
    with Lab():
        holds(not left.exists(), f"{namespace} was not swept")


def test_a_number_that_is_used_again_is_left_alone(lab):
    """As where process numbers wrap while a lab goes on."""
    host = lab.host("left")
    ended, other = host.run(["true"]), host.start(["sleep", "60"])
    ended.pid = other.pid
    ended.signal(signal.SIGKILL)
    ended.kill()
    ended.stop()
    time.sleep(0.2)
    holds(other.running(), "it was ended in the place of another that had ended before")
