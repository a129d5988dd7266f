"""Records of different hosts are brought onto one clock by the packets that both ends saw. Hosts of
the lab have one clock: what is found is held against that, and against what records are moved by."""

import clocks
import scenario
from checks import holds, near, same
from training import Player

MOST_US = 100
SHIFT_S = 3600
DRIFT_PPM = 50


def played(lab, name):
    one = scenario.read(scenario.FOLDER / f"{name}.toml")
    folder = lab.folder / "played"
    folder.mkdir()
    return Player(lab, one, folder, is_watched=True).play().records


def other_of(told):
    """The one that is not the reference: of two, the one whose clock is not its own."""
    left = [node for node in told["nodes"] if node["source"] != "same host"]
    same(len(left), 1, "nodes that are not the reference")
    return left[0]


def are_one(lab, name):
    records = played(lab, name)
    node = other_of(clocks.found(records))
    same(node["source"], "packets", "what tells the clock")
    for moment in ("first", "last"):
        holds(abs(node[f"offset_us_{moment}"]) < MOST_US, f"{moment} moment: {node}")
    holds(node["error_us"] >= abs(node["offset_us_first"]), f"error too small: {node}")
    are_one_again(records, node)


def are_one_again(records, before):
    """The node's record is moved; how far is found."""
    clocks.make_wrong(records / f"{before['name']}.db", SHIFT_S, DRIFT_PPM)
    after = other_of(clocks.found(records))
    same(after["name"], before["name"], "node")
    same(after["source"], "packets", "what tells the clock")
    ends = {"first": SHIFT_S * 1e6, "last": SHIFT_S * 1e6 + DRIFT_PPM * after["span_s"]}
    for moment, wanted in ends.items():
        found = after[f"offset_us_{moment}"]
        near(found, wanted, MOST_US / wanted, f"offset at the {moment} moment")


def measure_clocks_are_one_on_a_link(lab):
    are_one(lab, "clean-dp")


def measure_clocks_are_one_over_a_long_way(lab):
    are_one(lab, "wan-15ms")
