"""How fast a file system or a store of the lab's own answers: "MBPS LATENCY_MS", megabits a second
of all requests together, and how long each takes besides; "0 0" is as fast as it can be."""

import threading
import time

BITS = 8


class Speed:
    """Requests are served one after the other as far as the rate goes; their latencies overlap."""

    def __init__(self):
        self.lock = threading.Lock()
        self.free_at = 0.0
        self.set("0 0")

    def set(self, words):
        mbps, latency_ms = map(float, words.split())
        self.bytes_per_s, self.latency_s = mbps * 1e6 / BITS, latency_ms / 1000

    def wait(self, count):
        with self.lock:
            now = time.monotonic()
            takes = count / self.bytes_per_s if self.bytes_per_s else 0
            self.free_at = max(now, self.free_at) + takes
            over_at = self.free_at + self.latency_s
        if over_at > now:
            time.sleep(over_at - now)
