"""The files of tests/lab/scenarios, and what reads them. That they go as they say is a test each of
its own: lab.scenario."""

import json
import os

import netem
import scenario
from checks import holds, same
from lab import Failed, Way
from slots import put_into_slot
from traffic import ping

SMALL = """
about = "nothing"
[topology]
hosts = ["a", "b"]
links = [{ name = "lan", between = ["a", "b"] }]
[job]
program = "trainer"
[truth]
class = "compute"
[expected]
step_ms = [1, 2]
"""


def refused(lab, text):
    """Why this file is no scenario."""
    path = lab.folder / "odd.toml"
    path.write_text(text)
    try:
        scenario.read(path)
    except Failed as reason:
        return str(reason)
    return None


def test_every_file_can_be_read_and_tells_what_it_expects(lab):
    for path in scenario.all_files():
        one = scenario.read(path)
        holds(one.expected.step_ms, f"{one.name} expects no step time")
        holds(one.job.link in one.links, f"{one.name} has no link {one.job.link}")
        same(bool(one.fault), one.truth["class"] != "compute", f"{one.name} has a fault")


def test_misspelt_words_are_mistakes(lab):
    same(refused(lab, SMALL), None, "what is right")
    for right, wrong in (("about", "abuot"), ("compute", "computing"), ("step_ms", "steps_ms"),
                         ("between", "among"), ('["a", "b"] }', '["a", "b"], there = {rate=1} }')):
        holds(refused(lab, SMALL.replace(right, wrong)) is not None, f"{wrong} was taken")


def test_netem_is_told_what_a_way_says(lab):
    same(netem.words(Way(rate_mbps=100, delay_ms=7.5, loss=0.005, queue_bytes=500_000)),
         ["netem", "limit", 392, "delay", "7.5ms", "loss", "0.500000%", "rate", "100000000bit"],
         "words")
    holds(not netem.can(Way(drop=(3,))), "netem takes no orders")


SLOT = {"speed_gts": 2.5, "width": 1, "max_speed_gts": 8.0, "max_width": 8, "speed_mbps": 10_000}


def test_a_slot_is_what_the_hosts_programs_see_and_nobody_else(lab):
    left, right = lab.host("left"), lab.host("right")
    link = lab.link(left, right)
    put_into_slot(link.b, SLOT)
    interface = f"/sys/class/net/{link.b.interface}"
    same(seen(right, f"{interface}/device/current_link_width"), "1", "width")
    same(seen(right, f"{interface}/speed"), "10000", "speed of the line")
    holds(seen(right, "/sys/class/net/lo/mtu") == "65536", "other interfaces are gone")
    ping(left, link.b.ipv4, 3)
    holds(int(seen(right, f"{interface}/statistics/rx_packets")) >= 3, "the kernel's own counters")
    told = right.json(["chokepoint", "doctor", "--json"], status=None)
    found = [check for check in told["checks"] if check["id"].startswith("pci")
             and link.b.interface in json.dumps(check)]
    holds(any(check["status"] in ("WARNING", "CRITICAL") for check in found),
          f"doctor does not mind: {found}")
    same(link.b.interface in os.listdir("/sys/class/net"), False, "the machine sees it")


def seen(host, path):
    return host.run(["cat", path]).stdout().strip()
