"""A scenario played with nothing that watches it but tcpdump on one of its hosts."""

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

    def play(self):
        self.file.parent.mkdir()
        end = self.stage.end(self.captured, self.fault.link_of_the_job(self.scenario.job.link))
        capture = self.stage.hosts[self.captured].start(self.command(end.interface))
        capture.until(lambda: "listening on" in capture.stderr(), LISTENS_SECONDS, "capture")
        try:
            return super().play()
        finally:
            capture.stop()
            self.said = capture.stdout()

    def command(self, interface):
        return ["tcpdump", "-i", interface, "-s", SNAPSHOT_BYTES, "-B", BUFFER_KIB, "-Z", "root",
                "-w", self.file]


class DiagnosedLive(Captured):
    """By chokepoint, which says at its end what held the job back."""

    def command(self, interface):
        return ["chokepoint", "capture", "-i", interface, "--write", self.file, "--record",
                self.folder / "live", "--diagnose"]
