"""Two hosts joined by a link, the servers of all tools on one, and what every part needs: trials in
turn, medians, ratios with their spread, how busy the machine was."""

import contextlib
import dataclasses
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "lab"))

from lab import Failed, Lab  # noqa: E402

QUIET_PERCENT = 10
QUIET_WAIT_SECONDS = 60
LOOK_SECONDS = 1

__all__ = ["Bench", "Failed", "Settings", "busy", "ratio", "say", "spread",
           "wait_for_quiet"]


@dataclasses.dataclass
class Settings:
    chokepoint: str
    pairs: int = 5
    seconds: float = 5


class Bench:
    """A part of the benchmark at work: hosts "left" (clients) and "right" (servers)."""

    def __init__(self, lab, settings, rate_mbps=None):
        self.settings = settings
        self.left, self.right = lab.host("left"), lab.host("right")
        self.link = lab.link(self.left, self.right, rate_mbps)
        self.address = self.link.b.ipv4
        self.right.serve(["iperf3", "-s"], port=5201)
        # It forks away, and is ended with its host.
        self.right.run(["nuttcp", "-S"])
        if self.has("serve"):
            self.right.serve(["chokepoint", "serve", "--insecure-open"], port=5210)

    def iperf3_knows(self, word):
        return word in self.left.run(["iperf3", "--help"]).stdout()

    def has(self, *command):
        """Whether chokepoint has this command yet."""
        return self.left.run(["chokepoint", *command, "--help"], status=None).popen.returncode == 0


@contextlib.contextmanager
def bench(settings, rate_mbps=None):
    with Lab([pathlib.Path(settings.chokepoint).parent]) as lab:
        lab.needs("iperf3", "nuttcp")
        yield Bench(lab, settings, rate_mbps)


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def processor_ticks():
    words = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    ticks = [int(word) for word in words]
    return sum(ticks[:8]), ticks[3] + ticks[4]


@contextlib.contextmanager
def busy(into):
    """Notes how busy all processors were meanwhile: at 100 % nothing is left to be had."""
    total, idle = processor_ticks()
    yield
    after_total, after_idle = processor_ticks()
    passed = max(1, after_total - total)
    into["busy_percent"] = round(100 * (1 - (after_idle - idle) / passed), 1)


def others_percent():
    """How busy the machine is while the benchmark does nothing."""
    measured = {}
    with busy(measured):
        time.sleep(LOOK_SECONDS)
    return measured["busy_percent"]


def wait_for_quiet():
    """Until nobody else is at work, or patience ends. How busy others still are, in percent."""
    end = time.monotonic() + QUIET_WAIT_SECONDS
    while (others := others_percent()) > QUIET_PERCENT and time.monotonic() < end:
        pass
    if others > QUIET_PERCENT:
        say(f"the machine is {others:.0f} % busy with something else: "
            "the figures are of little worth")
    return others


def alternate(tools, rounds, trial):
    """Every tool once a round, each round beginning with another: what changes on the machine
    meanwhile meets all of them. Returns each tool's trials in the order of the rounds."""
    done = {tool.name: [] for tool in tools}
    for turn in range(rounds):
        shift = turn % len(tools)
        others = others_percent()
        for tool in tools[shift:] + tools[:shift]:
            measured = {"others_percent": others}
            with busy(measured):
                measured.update(trial(tool))
            done[tool.name].append(measured)
            say(f"  round {turn + 1}, {tool.name}: "
                + ", ".join(f"{name} {value:g}" for name, value in measured.items()
                            if isinstance(value, (int, float))))
            time.sleep(0.2)
    return done


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def ratio(trials, ours, figure, wanted):
    """Ours over the best of the others, round by round."""
    medians = {name: statistics.median(one[figure] for one in rounds)
               for name, rounds in trials.items()}
    if ours not in medians:
        return None
    best = max((name for name in medians if name != ours), key=medians.get)
    pairs = [mine[figure] / theirs[figure] for mine, theirs in zip(trials[ours], trials[best])
             if theirs[figure]]
    found = spread(pairs) if pairs else {"median": None, "min": None, "max": None}
    return {**found, "against": best, "wanted": wanted,
            "met": bool(pairs) and found["median"] >= wanted}


def text_of(command):
    with contextlib.suppress(OSError):
        return subprocess.run(command, capture_output=True, text=True, timeout=10).stdout.strip()
    return ""
