"""What a capture of one host alone says of a real job of Gloo's under a known fault."""

import contextlib
import pathlib
import tempfile

import scenario
from captured import Captured, DiagnosedLive
from checks import holds, near, same


@contextlib.contextmanager
def played(lab, name, by=Captured):
    """The capture, and the job's own usual step."""
    lab.needs("tcpdump")
    one = scenario.read(scenario.FOLDER / f"{name}.toml")
    with tempfile.TemporaryDirectory(prefix="captured-") as folder:
        player = by(lab, one, pathlib.Path(folder))
        yield player, player.play().usual_ms


def diagnosed(player, *words):
    return player.stage.hosts[player.captured].json(
        ["chokepoint", "diagnose", player.file, "--json", *words])


def test_a_narrow_link_is_named_by_a_capture_alone(lab):
    with played(lab, "lan-200mbps") as (player, usual_ms):
        told = diagnosed(player)
        same(told["verdict"]["class"], "lan-bandwidth", "class")
        near(told["steps"]["median_ms"], usual_ms, 0.05, "a step, ms")
        same(len(told["nodes"]), 2, "hosts")
        holds(any("packets alone" in line for line in told["missing"]), "what is missing is told")


def test_a_late_rank_is_named_by_a_capture_alone(lab):
    with played(lab, "late-rank-dp") as (player, usual_ms):
        told = diagnosed(player)
        same(told["verdict"]["class"], "straggler", "class")
        near(told["steps"]["median_ms"], usual_ms, 0.05, "a step, ms")


def test_a_capture_says_at_its_end_what_its_file_and_its_record_do(lab):
    with played(lab, "lan-200mbps", DiagnosedLive) as (player, _):
        holds("lan-bandwidth: the link" in player.said, f"no verdict: {player.said}")
        host = player.stage.hosts[player.captured]
        folder = player.folder / "kept"
        host.run(["chokepoint", "capture", "-r", player.file, "--record", folder, "--node", "tap"])
        kept = host.json(["chokepoint", "diagnose", folder, "--json"])
        same(kept["verdict"]["class"], diagnosed(player)["verdict"]["class"], "class")
