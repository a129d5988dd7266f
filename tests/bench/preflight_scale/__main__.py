"""usage: preflight_scale [--hosts N,N…] [--all-pairs N,N…] [--out FILE] CHOKEPOINT CROWD

What a preflight costs its coordinator: 'chokepoint preflight' itself, against simulated agents in a
process of their own that answer at once, so that nothing but the coordinator's own work is left. Time,
processor and the largest memory at each size, for a sample and for all pairs, and what that is for
each result. A result is an answer of an agent that was asked for: four tests a pair, a fifth where the
path is looked at, and doctor on each host.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile


def sizes(text):
    return [int(word) for word in text.split(",") if word]


def arguments():
    parser = argparse.ArgumentParser(prog="preflight_scale",
                                     usage=__doc__.split("\n\n")[0][len("usage: "):])
    parser.add_argument("--hosts", type=sizes, default=[64, 256, 1000, 4096])
    parser.add_argument("--all-pairs", type=sizes, default=[64, 256, 1000])
    parser.add_argument("--out", default="preflight.json")
    parser.add_argument("chokepoint")
    parser.add_argument("crowd")
    return parser.parse_args()


class Crowd:
    """Simulated agents; host 3's cable carries a tenth."""

    def __init__(self, program, hosts):
        self.process = subprocess.Popen([program, f"hosts={hosts}", "host=3:1000"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.hosts = self.process.stdout.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


# In a process of its own: the largest memory of one that was just forked is its parent's.
MEASURED = """
import json, os, resource, subprocess, sys, time
start = time.monotonic()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(json.dumps({"status": os.waitstatus_to_exitcode(status), "wall_s": time.monotonic() - start,
                  "user_s": usage.ru_utime, "system_s": usage.ru_stime,
                  "peak_mb": usage.ru_maxrss * 1024 / 1e6}))
"""


def timed(command):
    """Its exit code, and what it took, from its start to its end."""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", MEASURED, *command], check=True,
                          capture_output=True, text=True)
    took = json.loads(done.stdout)
    return took.pop("status"), took


def results_in(document):
    """Answers that it took to come by it."""
    pairs = document["pairs"]
    paths = sum(1 for mtu in pairs["there"]["mtu_bytes"] if mtu is not None)
    return len(document["hosts"]) + 4 * pairs["count"] + paths


def measure(asked, hosts, flags, folder):
    names, kept = folder / "hosts", folder / "kept.json"
    with Crowd(asked.crowd, hosts) as crowd:
        names.write_bytes(crowd.hosts)
        command = [asked.chokepoint, "preflight", "--hosts-file", str(names), "--seed", "1", *flags]
        status, took = timed([*command, "--quiet"])
        kept_status, kept_took = timed([*command, "--quiet", "--keep", str(kept)])
    assert status == 3 and kept_status == 3, f"exit codes {status}, {kept_status}: 3 was expected"
    document = json.loads(kept.read_text())
    results = results_in(document)
    return {"hosts": hosts, "plan": document["plan"], "pairs": document["pairs"]["count"],
            "results": results, **took,
            "us_a_result": 1e6 * (took["user_s"] + took["system_s"]) / results,
            "with_document": {**kept_took, "document_mb": kept.stat().st_size / 1e6},
            "verdict": document["verdict"]}


def line(row):
    kept = row["with_document"]
    return (f"{row['plan']:>9} {row['hosts']:>6} hosts {row['pairs']:>8} pairs "
            f"{row['results']:>9} results  {row['wall_s']:8.2f} s  processor "
            f"{row['user_s'] + row['system_s']:8.2f} s  {row['us_a_result']:6.1f} us a result  "
            f"peak {row['peak_mb']:8.1f} MB  with a document {kept['peak_mb']:8.1f} MB, "
            f"{kept['wall_s']:.2f} s")


def main():
    asked = arguments()
    rows = []
    wanted = [(hosts, ["--quick"]) for hosts in asked.hosts]
    wanted += [(hosts, []) for hosts in asked.hosts]
    wanted += [(hosts, ["--thorough"]) for hosts in asked.all_pairs]
    with tempfile.TemporaryDirectory() as folder:
        for hosts, flags in wanted:
            rows.append(measure(asked, hosts, flags, pathlib.Path(folder)))
            print(line(rows[-1]), flush=True)
    pathlib.Path(asked.out).write_text(json.dumps({"runs": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
