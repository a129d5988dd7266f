"""A scenario: hosts and links that are well, a job on them, one fault, and the truth about it.

Read from a file of scenarios/, which docs/internals/lab.md describes. Words that nobody knows are mistakes:
a misspelt fault would otherwise be a healthy run.
"""

import dataclasses
import pathlib
import tomllib

from kernel import Failed
from wires import Way

FOLDER = pathlib.Path(__file__).parent / "scenarios"
CUTS = ("cut", "path-cut", "host-gone")
CLASSES = ("compute", "straggler", "lan-bandwidth", "lan-loss", "lan-latency", "wan-bandwidth",
           "wan-loss", "wan-latency", "input", "storage", "stalled", "receiver-host", "sender-host",
           "pcie-nic", "wrong-path", "unknown")


@dataclasses.dataclass
class Link:
    name: str
    between: list
    there: Way = dataclasses.field(default_factory=Way)
    back: Way = dataclasses.field(default_factory=Way)
    mtu: int | None = None
    is_wire: bool = False  # it delays, loses or has a queue of its own, now or under the fault


@dataclasses.dataclass
class Job:
    program: str  # trainer, ddp, shapes or nccl
    link: str  # whose interface the ranks are told to use
    label: str  # of the parallelism
    family: int | None = None
    pinned: bool = False  # each rank to a processor of its own
    ranks_a_host: int = 1  # not of the trainer
    # torchrun, of PyTorch's jobs, or mpirun on each host; else each rank is started by itself
    launcher: str | None = None
    output: str = "lines"  # a line a step; "silent", or "marks" instead
    data: dict | None = None  # files that each rank reads: how many, and kb of each
    watch: list = dataclasses.field(default_factory=list)  # more words for `chokepoint run`
    options: dict = dataclasses.field(default_factory=dict)
    is_interleaved: bool = False  # ranks 0, 2, … on the first of two hosts
    is_modern: bool = False  # in a chroot with the PyTorch of today

    @property
    def shape(self):
        """How its ranks work together, in a word."""
        return self.options.get("shape") or self.options.get("pattern") or self.program


@dataclasses.dataclass
class Expected:
    """What a run under the fault must look like for the truth to be true, loosely."""

    step_ms: list | None = None  # the median is between these
    longest_ms: list | None = None  # one step took that long
    is_whole: bool = True  # all ranks end well
    verdict: list | None = None  # of diagnose, where the record alone cannot tell the truth
    evidence: list = dataclasses.field(default_factory=list)  # of that verdict: parts of its texts


@dataclasses.dataclass
class Scenario:
    name: str
    about: str
    ci: bool
    hosts: list
    switch: str | None
    links: dict
    job: Job
    fault: dict
    truth: dict
    expected: Expected
    baseline: dict = dataclasses.field(default_factory=dict)  # probes before the job
    congestion_control: str | None = None  # of all hosts, else the kernel's default

    @property
    def ranks(self):
        return [host for host in self.hosts if host != self.switch]

    def without_fault(self):
        """Its healthy twin."""
        return dataclasses.replace(self, fault={}, truth={"class": "compute"},
                                   expected=Expected(), baseline={})


def all_files():
    return sorted(FOLDER.glob("*.toml"))


def read(path):
    path = pathlib.Path(path)
    try:
        with open(path, "rb") as file:
            return made(path.stem, tomllib.load(file))
    except (OSError, tomllib.TOMLDecodeError, TypeError, KeyError, ValueError) as error:
        raise Failed(f"{path}: {error!r}") from error


def made(name, document):
    known = {"about", "ci", "topology", "job", "fault", "truth", "expected", "baseline"}
    if set(document) - known:
        raise ValueError(f"no such words: {sorted(set(document) - known)}")
    fault = document.get("fault", {})
    topology = document["topology"]
    links = {link["name"]: link_of(link, fault) for link in topology["links"]}
    truth = document["truth"]
    if truth["class"] not in CLASSES:
        raise ValueError(f"no such class: {truth['class']}")
    return Scenario(name, document["about"], document.get("ci", False), topology["hosts"],
                    topology.get("switch"), links, job_of(document["job"], next(iter(links))),
                    fault, truth, Expected(**document["expected"]),
                    document.get("baseline", {}), topology.get("congestion_control"))


def link_of(words, fault):
    there = Way(**words.get("there", {}))
    link = Link(words["name"], words["between"], there, Way(**words["back"])
                if "back" in words else there, words.get("mtu"))
    touched = fault.get("link") == link.name and fault.get("kind") in ("link", *CUTS)
    ways = [link.there, link.back]
    if touched:
        ways += [Way(**fault.get("there", {})), Way(**fault.get("back", {}))]
    link.is_wire = not all(way.is_plain() for way in ways)
    link.is_wire = link.is_wire or (touched and fault["kind"] in CUTS)
    return link


def job_of(words, first_link):
    words = dict(words)
    program, link = words.pop("program"), words.pop("link", first_link)
    family, pinned = words.pop("family", None), words.pop("pinned", False)
    ranks_a_host = words.pop("ranks_a_host", 1)
    launcher, output = words.pop("launcher", None), words.pop("output", "lines")
    data, is_interleaved = words.pop("data", None), words.pop("is_interleaved", False)
    watch = words.pop("watch", [])
    if launcher not in (None, "torchrun", "mpirun") or output not in ("lines", "silent", "marks"):
        raise ValueError(f"no such launcher or output: {launcher}, {output}")
    is_modern = {None: False, "modern": True}[words.pop("python", None)]
    if is_modern and (program in ("trainer", "nccl") or launcher == "mpirun"):
        raise ValueError(f"the chroot has no {program}, or no {launcher}")
    label = words.get("pattern", "dp").upper()
    return Job(program, link, label, family, pinned, ranks_a_host, launcher, output, data, watch,
               words, is_interleaved, is_modern)
