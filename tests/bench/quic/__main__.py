"""usage: quic [--pairs N] [--time SECONDS] [--out FILE] CHOKEPOINT [veth|200mbps|20ms]…

'chokepoint probe quic' and ngtcp2's own client and server, in turn, between two network namespaces:
one stream from the server to the client, cubic and the same flow control window for both. Both stand
on one library, so what differs is the programs around it; once more without the kernel's segmentation,
of which ngtcp2's client makes no use. ngtcp2's client reports no rate: a file of
so many bytes is fetched, and the time for a file of one byte taken off. Prints a table; FILE gets the
document.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1] / "probes"))

import parts  # noqa: E402
import report  # noqa: E402
from bench import alternate, ratio, say, spread, text_of  # noqa: E402
from lab import Failed, Lab, Way  # noqa: E402

WINDOW = 16 << 20
PORT = 4433
WANTED = 0.97


def joined(lab, rate_mbps=None):
    left, right = lab.host("left"), lab.host("right")
    return left, right, lab.link(left, right, rate_mbps).b.ipv4


def apart(lab):
    left, right = lab.host("left"), lab.host("right")
    return left, right, lab.path(left, right, Way(delay_ms=10), Way(delay_ms=10)).b.ipv4


# Name: hosts, and about what ngtcp2's programs carry, for the size of the file.
PARTS = {"veth": (joined, 3000), "200mbps": (lambda lab: joined(lab, 200), 180),
         "20ms": (apart, 400)}


class Ours:
    name, segmentation = "chokepoint", "on"

    def __init__(self, asked, left, address):
        self.left, self.address, self.seconds = left, address, asked.time

    def mbps(self):
        told = self.left.json(["chokepoint", "probe", "quic", self.address, "--receive", "--time",
                               str(self.seconds), "--window", str(WINDOW), "--segmentation",
                               self.segmentation, "--json"], timeout=90)
        return told["throughput_mbps"]


class Uncut(Ours):
    name, segmentation = "segmentation off", "off"


class Theirs:
    name = "ngtcp2"

    def __init__(self, asked, lab, left, right, address, about_mbps):
        self.left, self.address = left, address
        self.bytes = int(about_mbps * 1e6 / 8 * asked.time)
        root = lab.folder / "files"
        root.mkdir()
        for name, size in (("large", self.bytes), ("small", 1)):
            with open(root / name, "wb") as file:
                file.truncate(size)
        key, certificate = lab.folder / "key.pem", lab.folder / "certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=lab",
                        "-keyout", key, "-out", certificate], check=True, capture_output=True)
        right.start(["gtlsserver", "-q", "-d", str(root), "--max-window", str(WINDOW),
                     "--max-stream-window", str(WINDOW), "*", str(PORT), str(key),
                     str(certificate)])
        time.sleep(1)

    def seconds_for(self, name):
        began = time.monotonic()
        self.left.run(["gtlsclient", "-q", "--exit-on-all-streams-close", "--max-data", str(WINDOW),
                       "--max-stream-data-bidi-local", str(WINDOW), self.address, str(PORT),
                       f"https://{self.address}:{PORT}/{name}"], timeout=90)
        return time.monotonic() - began

    def mbps(self):
        passed = self.seconds_for("large") - self.seconds_for("small")
        if passed <= 0:
            raise Failed("ngtcp2's client fetched nothing")
        return self.bytes * 8 / passed / 1e6


def compared(name, asked):
    make, about_mbps = PARTS[name]
    with Lab([pathlib.Path(asked.chokepoint).parent]) as lab:
        lab.needs("gtlsclient", "gtlsserver", "openssl")
        left, right, address = make(lab)
        right.serve(["chokepoint", "serve", "--insecure-open", "--quiet"], port=5210)
        tools = [Ours(asked, left, address), Uncut(asked, left, address),
                 Theirs(asked, lab, left, right, address, about_mbps)]
        say(f"{name}, {asked.pairs} rounds of some {asked.time:g} s")
        trials = alternate(tools, asked.pairs, lambda tool: {"mbps": tool.mbps()})
    return {"tools": {tool: {**spread([one["mbps"] for one in rounds]), "rounds": rounds}
                      for tool, rounds in trials.items()},
            "ratios": {tool.name: ratio({name: trials[name] for name in (tool.name, Theirs.name)},
                                        tool.name, "mbps", WANTED) for tool in (Ours, Uncut)}}


def of_theirs(found):
    return f"{found['median']:.2f} (from {found['min']:.2f} to {found['max']:.2f})"


def table(document):
    rows = [[name, *(report.figure(part["tools"][tool.name]["median"])
                     for tool in (Ours, Uncut, Theirs)),
             *(of_theirs(part["ratios"][tool.name]) for tool in (Ours, Uncut))]
            for name, part in document["parts"].items()]
    return report.table(["Mb/s", "chokepoint", "segmentation off", "ngtcp2", "of ngtcp2", "off"], rows)


def main():
    parser = argparse.ArgumentParser(prog="quic")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--time", type=float, default=2)
    parser.add_argument("--out", default="quic.json")
    asked = parts.asked_for(parser, PARTS)
    machine = {"kernel": os.uname().release, "processors": os.cpu_count(),
               "load": os.getloadavg()[0],
               "versions": {"ngtcp2": text_of(["dpkg-query", "-W", "-f", "${Version}",
                                               "ngtcp2-client"])}}
    document = parts.measured("chokepoint.bench.quic/1", machine, asked.parts or PARTS,
                              lambda name: compared(name, asked), asked.out)
    print(table(document))
    return 1 if document.get("without") else 0


if __name__ == "__main__":
    sys.exit(main())
