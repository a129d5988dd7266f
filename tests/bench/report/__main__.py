"""usage: report [--folder DIR] [--out FILE] CHOKEPOINT LOAD_BENCH

How long `chokepoint report` takes for an hour of four nodes with 66 connections each, how large the
page is, and how soon a browser shows it. DIR keeps the records for another time; it is filled by
LOAD_BENCH where it has none. Five times each; FILE gets every figure.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

REPETITIONS = 5
PAINT_TIMES = pathlib.Path(__file__).parents[2] / "web" / "program"


def arguments():
    parser = argparse.ArgumentParser(prog="report", usage=__doc__.split("\n\n")[0][len("usage: "):])
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--out", default="report.json")
    parser.add_argument("chokepoint")
    parser.add_argument("load_bench")
    return parser.parse_args()


def make_records(folder, load_bench):
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.glob("*.db")):
        print("making the records of an hour; this takes minutes", file=sys.stderr)
        subprocess.run([load_bench, folder], check=True, stdout=subprocess.DEVNULL)


def seconds_of(command):
    began = time.monotonic()
    subprocess.run(command, check=True)
    return time.monotonic() - began


def write_times(chokepoint, folder, page):
    command = [chokepoint, "report", folder, "-o", page, "--quiet"]
    subprocess.run(command, check=True)  # brings the records into memory
    return [seconds_of(command) for _ in range(REPETITIONS)]


def paint_times(page):
    """None where there is no browser."""
    done = subprocess.run([PAINT_TIMES, "paint_times", page], stdout=subprocess.PIPE, text=True,
                          check=False)
    return [json.loads(line) for line in done.stdout.splitlines()] or None


def measure(asked, folder, scratch):
    page = pathlib.Path(scratch) / "report.html"
    make_records(folder, asked.load_bench)
    return {"write_s": write_times(asked.chokepoint, folder, page),
            "page_bytes": page.stat().st_size,
            "open_ms": paint_times(page)}


def show(figures):
    print(f"writing the page    {statistics.median(figures['write_s']):.2f} s, "
          f"the longest {max(figures['write_s']):.2f} s")
    print(f"the page            {figures['page_bytes'] / 1e6:.2f} MB")
    if figures["open_ms"]:
        paints = [each["first_paint_ms"] for each in figures["open_ms"]]
        print(f"first paint after   {statistics.median(paints):.0f} ms, "
              f"the longest {max(paints):.0f} ms")


def main():
    asked = arguments()
    with tempfile.TemporaryDirectory() as scratch:
        figures = measure(asked, asked.folder or pathlib.Path(scratch) / "records", scratch)
    pathlib.Path(asked.out).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    show(figures)


main()
