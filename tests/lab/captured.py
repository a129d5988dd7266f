"""A scenario played with nothing that watches it but tcpdump on one of its hosts."""

import contextlib
import zlib

from training import Player

SNAPSHOT_BYTES = 160
BUFFER_KIB = 65_536
LISTENS_SECONDS = 20
FOLDER = "records"  # where other plays have their records
FILE = "job.pcap"


class Captured(Player):
    def __init__(self, lab, scenario, folder, is_watched=False):
        """`folder`: gets records/job.pcap, of a host that follows from the scenario's name."""
        del is_watched
        super().__init__(lab, scenario, folder, is_watched=False)
        hosts = scenario.ranks
        self.said = ""
        self.captured = hosts[zlib.crc32(scenario.name.encode()) % len(hosts)]

    @property
    def file(self):
        return self.folder / FOLDER / FILE

    def captures(self):
        """By the host that each is of."""
        return {self.captured: self.file}

    def play(self):
        self.file.parent.mkdir()
        with contextlib.ExitStack() as stack:
            begun = {host: self.begin(stack, host, file)
                     for host, file in self.captures().items()}
            try:
                return super().play()
            finally:
                stack.close()
                self.said = begun[self.captured].stdout()

    def begin(self, stack, host, file):
        end = self.stage.end(host, self.fault.link_of_the_job(self.scenario.job.link))
        capture = self.stage.hosts[host].start(self.command(end.interface, file))
        stack.callback(capture.stop)
        capture.until(lambda: "listening on" in capture.stderr(), LISTENS_SECONDS, "capture")
        return capture

    def command(self, interface, file):
        return ["tcpdump", "-i", interface, "-s", SNAPSHOT_BYTES, "-B", BUFFER_KIB, "-Z", "root",
                "-w", file]


class CapturedEverywhere(Captured):
    """At each host that has ranks."""

    def captures(self):
        others = {host: self.folder / FOLDER / f"{host}.pcap" for host in self.scenario.ranks}
        return {**others, self.captured: self.file}


class DiagnosedLive(Captured):
    """By chokepoint, which says at its end what held the job back."""

    def command(self, interface, file):
        return ["chokepoint", "capture", "-i", interface, "--write", file, "--record",
                self.folder / "live", "--diagnose"]
