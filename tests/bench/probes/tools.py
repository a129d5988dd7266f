"""The tools that are compared, each asked for the same thing in its own words.

tcp() answers with mbps, the goodput at the receiver; udp() with delivered_pps, loss_percent and
offered_mbps for datagrams of 1472 bytes, at a rate or as fast as it goes.
"""

PAYLOAD_BYTES = 1472
PATIENCE_SECONDS = 30


def packets_per_second(mbps):
    return mbps * 1e6 / 8 / PAYLOAD_BYTES


class Iperf3:
    def __init__(self, bench, name="iperf3", words=()):
        self.bench, self.name, self.words = bench, name, words

    def ask(self, seconds, words):
        bench = self.bench
        return bench.left.json(["iperf3", "-c", bench.address, "-J", "-t", seconds, *words],
                               timeout=seconds + PATIENCE_SECONDS)["end"]

    def tcp(self, streams, seconds):
        told = self.ask(seconds, ["-P", streams, *self.words])
        return {"mbps": told["sum_received"]["bits_per_second"] / 1e6}

    def udp(self, seconds, rate_mbps=None):
        rate = f"{rate_mbps:.6f}M" if rate_mbps else "0"
        told = self.ask(seconds, ["-u", "-l", PAYLOAD_BYTES, "-b", rate, *self.words])
        received = told["sum_received"]
        arrived = received["packets"] - received["lost_packets"]
        return {"delivered_pps": arrived / received["seconds"],
                "loss_percent": received["lost_percent"],
                "offered_mbps": told["sum_sent"]["bits_per_second"] / 1e6}


class Nuttcp:
    name = "nuttcp"

    def __init__(self, bench):
        self.bench = bench

    def ask(self, seconds, words):
        bench = self.bench
        told = bench.left.run(["nuttcp", f"-T{seconds}", "-fparse", *words, bench.address],
                              timeout=seconds + PATIENCE_SECONDS).stdout()
        pairs = (word.split("=", 1) for word in told.split() if "=" in word)
        return {name: float(value) for name, value in pairs}

    def tcp(self, streams, seconds):
        words = [f"-N{streams}"] if streams > 1 else []
        return {"mbps": self.ask(seconds, words)["rate_Mbps"]}

    def udp(self, seconds, rate_mbps=None):
        rate = f"-R{rate_mbps * 1000:.0f}" if rate_mbps else "-Ru"
        told = self.ask(seconds, ["-u", rate, f"-l{PAYLOAD_BYTES}"])
        return {"delivered_pps": packets_per_second(told["rate_Mbps"]),
                "loss_percent": told["data_loss"],
                "offered_mbps": told["pkt"] * PAYLOAD_BYTES * 8 / told["real_seconds"] / 1e6}


class Chokepoint:
    name = "chokepoint"

    def __init__(self, bench):
        self.bench = bench

    def ask(self, kind, seconds, words, patience=PATIENCE_SECONDS):
        bench = self.bench
        return bench.left.json(["chokepoint", "probe", kind, bench.address, "--json", *words],
                               timeout=seconds + patience)

    def tcp(self, streams, seconds, words=()):
        told = self.ask("tcp", seconds, ["--time", seconds, "--streams", streams,
                                         "--congestion", "cubic", *words])
        return {"mbps": told["throughput_mbps"], "told": told}

    def udp(self, seconds, rate_mbps=None):
        """Without a rate: the search for the highest one that loses less than 0.1 %."""
        words = ["--time", seconds]
        if rate_mbps:
            words += ["--rate", f"{rate_mbps * 1e6:.0f}"]
        told = self.ask("udp", seconds, words, patience=120)
        return {"delivered_pps": packets_per_second(told["throughput_mbps"]),
                "loss_percent": told["loss_percent"], "offered_mbps": told["offered_mbps"],
                "told": told}
