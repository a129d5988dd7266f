"""The jobs whose steps are to be told, by pattern and about how long a step is. The lab's trainer
sleeps in place of computing, so that many can be watched on few processors; ddp is PyTorch's own,
which computes."""

import dataclasses
import os
import pathlib
import subprocess

from lab import Skipped

TREE = pathlib.Path(__file__).resolve().parents[3]
PYTHON = "/usr/bin/python3"
BYTES_PER_MS = 125_000  # of the link
RATE_MBPS = 1000
MOST_BYTES = 16_000_000  # a step
PIECES = {"dp": 4, "tp": 8, "pp": 4}
REAL = "ddp"
DDP_WIDTH = 97  # of layers, times the root of a step's milliseconds
LEAST_STEPS, LEAST_SECONDS = 24, 20
LONG_MS = 1000  # from here on jobs run beside each other: they only sleep

USUAL = ("dp-20", "dp-50", "dp-100", "dp-300", "dp-1000", "dp-3000", "dp-10000",
         "tp-50", "tp-300", "tp-3000", "pp-100", "pp-1000", "pp-3000", "ddp-70", "ddp-400")
MINUTES = ("dp-30000",)


@dataclasses.dataclass
class Trial:
    pattern: str
    about_ms: float

    @staticmethod
    def of(name):
        pattern, _, about_ms = name.partition("-")
        if pattern not in (*PIECES, REAL) or not about_ms.isdigit():
            raise ValueError(f"no such trial: {name}")
        return Trial(pattern, float(about_ms))

    @property
    def name(self):
        return f"{self.pattern}-{self.about_ms:.0f}"

    @property
    def is_long(self):
        return self.about_ms >= LONG_MS

    @property
    def steps(self):
        return max(LEAST_STEPS, round(LEAST_SECONDS * 1e3 / self.about_ms))

    @property
    def seconds(self):
        """That it may take."""
        return 60 + 3 * self.steps * self.about_ms / 1e3

    @property
    def is_real(self):
        return self.pattern == REAL

    def words(self, meet, truth):
        return self.ddp() if self.is_real else self.trainer(meet, truth)

    def ddp(self):
        if subprocess.run([PYTHON, "-c", "import torch.distributed"], check=False,
                          capture_output=True).returncode:
            raise Skipped("needs python3-torch")
        return [PYTHON, "-B", TREE / "scripts/train/ddp.py", "--width",
                round(DDP_WIDTH * self.about_ms ** 0.5), "--steps", self.steps, "--quiet",
                "--marks"]

    def trainer(self, meet, truth):
        program = TREE / "build/release/scripts/train/trainer/lab_trainer"
        if not os.access(program, os.X_OK):
            raise Skipped("needs the trainer: libgloo-dev, and ninja -C build/release lab_trainer")
        return [program, "--meet", meet, "--truth", truth, "--pattern", self.pattern,
                "--bytes", self.bytes(), "--pieces", PIECES[self.pattern], "--compute-ms",
                self.compute_ms(), "--steps", self.steps, "--quiet"]

    def bytes(self):
        """A quarter of the step fills the link, where that is not too much."""
        a_step = min(MOST_BYTES, int(self.about_ms / 4 * BYTES_PER_MS))
        exchanges = 2 * PIECES["tp"] + 1
        return a_step // exchanges if self.pattern == "tp" else a_step

    def compute_ms(self):
        """By data parallelism most of the exchange hides behind the computing; a pipeline's other
        stages wait for it."""
        return self.about_ms * {"dp": 0.93, "tp": 0.75, "pp": 0.7}[self.pattern]
