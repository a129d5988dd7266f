"""What tcptrace and tshark say of a capture, in the same words as ours. Sums over all flows and
both ways, but for the round trip, which is of the data from a to b; nothing where a tool has no such
figure."""

import collections
import re
import statistics
import subprocess

FIGURES = ("packets", "bytes", "retransmitted", "sent_again_bytes", "out_of_order", "duplicates",
           "rtt_ms")
OURS = {"packets": "packets", "bytes": "bytes", "retransmitted": "retransmitted_packets",
        "sent_again_bytes": "retransmitted_bytes", "out_of_order": "out_of_order",
        "duplicates": "duplicates"}
TSHARK_FLAGS = ("retransmission", "fast_retransmission", "spurious_retransmission")
LINE = re.compile(r"^\s+(\S.*?):\s+(\S+) ?(?:\w+)?\s{2,}\S.*?:\s+(\S+)")


def ours(document):
    found = collections.Counter()
    trips = []
    for flow in document["flows"]:
        for way in (flow["a_to_b"], flow["b_to_a"]):
            found.update({name: way[field] or 0 for name, field in OURS.items()})
        trip = flow["a_to_b"]["rtt_ms"]
        trips += [trip["median"]] if trip else []
    return {**found, "rtt_ms": trips[0] if trips else None}


def tshark(path):
    """Expert flags packet by packet; the conversation table has no more than frames and bytes."""
    names = [f"tcp.analysis.{name}" for name in TSHARK_FLAGS]
    fields = ["frame.len", "tcp.len", "tcp.analysis.out_of_order", "tcp.analysis.ack_rtt",
              "tcp.srcport", *names]
    words = ["tshark", "-r", path, "-Y", "tcp || udp", "-T", "fields", "-E", "occurrence=l",
             *(word for field in fields for word in ("-e", field))]
    found = dict.fromkeys(FIGURES, 0)
    trips = []
    for line in run(words).splitlines():
        length, payload, disorder, trip, port, *again = line.split("\t")
        found["packets"] += 1
        found["bytes"] += int(length)
        found["out_of_order"] += bool(disorder)
        if any(again):
            found["retransmitted"] += 1
            found["sent_again_bytes"] += int(payload)
        if trip and port == "5001":
            trips.append(float(trip) * 1000)
    return {**found, "duplicates": None, "rtt_ms": statistics.median(trips) if trips else None}


def tcptrace(path):
    told = run(["tcptrace", "-nlr", path])
    found = dict.fromkeys(FIGURES, 0)
    names = {"total packets": "packets", "rexmt data pkts": "retransmitted",
             "rexmt data bytes": "sent_again_bytes", "outoforder pkts": "out_of_order"}
    trips = []
    for line in told.splitlines():
        match = LINE.match(line)
        if match and match[1] in names:
            found[names[match[1]]] += int(match[2]) + int(match[3])
        elif match and match[1] == "RTT avg" and float(match[2]) > 0:
            trips.append(float(match[2]))
    if not found["packets"]:
        return dict.fromkeys(FIGURES)
    return {**found, "bytes": None, "duplicates": None, "rtt_ms": trips[0] if trips else None}


def run(words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=60).stdout
