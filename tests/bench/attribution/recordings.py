"""What was played, as it lies in a folder: anything below it that has records/ and truth.json. Its
healthy twin is the folder that the truth names, or NAME.twin beside it, as tests/lab/lab leaves it.
"""

import dataclasses
import functools
import hashlib
import json
import pathlib
import statistics

WARM_UP_STEPS = 2
LEAST_STEPS = 3
SHOWS_FROM = 1.10  # times the twin's step; a fault that costs less is no scenario
HEALTHY_EXPOSED = 0.04  # of a step, that a healthy job may spend beside computing
OF_ITS_END = ("stalled", "unknown")  # what is true of jobs that are meant to stand or to fail
CALM_BELOW = 1.15  # times the median step, is the mean
TWIN = ".twin"
HALVES = ("chosen", "reported")  # thresholds are chosen on the first half of the scenarios


@dataclasses.dataclass
class Recording:
    folder: pathlib.Path
    name: str
    document: dict
    twin: "Recording | None" = None
    lacking: pathlib.Path | None = None  # records that hold less, to be diagnosed instead

    @property
    def records(self):
        return self.lacking or self.folder / "records"

    @property
    def truth(self):
        return self.document["truth"]

    @property
    def is_healthy(self):
        return self.truth["class"] == "compute"

    @property
    def is_whole(self):
        return set(self.document.get("exit_statuses", {}).values()) <= {0}

    @property
    def begins_late(self):
        """The fault was not there in the first steps."""
        return bool(self.document.get("fault", {}).get("from_s")) or not self.is_whole

    @property
    def half(self):
        digest = hashlib.sha256(self.name.encode()).digest()
        return HALVES[digest[0] % 2]

    def steps_ms(self):
        steps = self.document["steps_ms"]
        return steps[WARM_UP_STEPS:] if len(steps) >= WARM_UP_STEPS + LEAST_STEPS else steps

    @functools.cached_property
    def mean_ms(self):
        return statistics.mean(self.steps_ms() or [0])

    @functools.cached_property
    def median_ms(self):
        return statistics.median(self.steps_ms() or [0])

    def lost_ms(self, of):
        """More than the twin a step; `of`: mean_ms or median_ms."""
        return getattr(self, of) - getattr(self.twin, of) if self.twin else None

    def exposed_share(self):
        """Of all ranks' time, what was not computing; nothing where the job does not say."""
        steps = [step for rank in self.document.get("spent", {}).values()
                 for step in rank["steps"][WARM_UP_STEPS:]]
        took = sum(step["end_ns"] - step["start_ns"] for step in steps)
        return 1 - sum(step["compute_ns"] for step in steps) / took if took else None

    def is_calm(self):
        """No few steps took as long as many."""
        return self.mean_ms < CALM_BELOW * self.median_ms

    def is_sure_to_be_well(self):
        """Of a twin: by the job's own figures there is nothing to gain."""
        share = self.exposed_share()
        return self.is_whole and share is not None and share < HEALTHY_EXPOSED

    def why_no_scenario(self):
        """What is wrong with it as a case, if anything."""
        if not self.is_whole:
            return (None if self.truth["class"] in OF_ITS_END
                    else "the job failed: how long its steps take is not what holds it back")
        if self.is_healthy:
            return None
        if self.twin is None:
            return "its twin is missing"
        if self.mean_ms < SHOWS_FROM * self.twin.mean_ms:
            return (f"the fault does not show: {self.mean_ms:.1f} ms a step, "
                    f"{self.twin.mean_ms:.1f} without it")
        more = (self.twin.exposed_share() or 0) * self.twin.mean_ms
        if more > self.lost_ms("mean_ms"):
            return (f"the fault is not the largest: it takes {self.lost_ms('mean_ms'):.1f} ms a step, "
                    f"what is not computing takes {more:.1f} without it")
        return None


def is_twin(folder):
    return folder.name.endswith(TWIN) or folder.parent.name == "twins"


def read(folder):
    document = json.loads((folder / "truth.json").read_text())
    return Recording(folder, document.get("name", folder.name), document)


def twin_folder(recording):
    named = recording.document.get("twin")
    beside = recording.folder.parent / (recording.folder.name + TWIN)
    return (recording.folder / named).resolve() if named else beside


def with_twin(recording, twins):
    folder = twin_folder(recording)
    if folder not in twins and (folder / "truth.json").exists():
        twins[folder] = read(folder)
    recording.twin = twins.get(folder)
    return recording


def below(folder):
    """(cases, twins), each in the order of their paths; what is half written is left out."""
    whole = sorted(file.parent.resolve() for file in pathlib.Path(folder).rglob("truth.json")
                   if (file.parent / "records").is_dir())
    twins = {path: read(path) for path in whole if is_twin(path)}
    cases = [with_twin(read(path), twins) for path in whole if not is_twin(path)]
    return cases, list(twins.values())
