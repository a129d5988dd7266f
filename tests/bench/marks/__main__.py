"""usage: marks [--repetitions N] [--steps N] [--ranks N] [--seconds S] [--out FILE] CHOKEPOINT

What a step mark costs a training loop of Python: steps of 5 ms without marks, with marks that nobody
watches, and with `chokepoint run` in front, in turn. Then how many marks are lost where many ranks
mark at the same moments, 200 times a second. FILE gets the document.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LOOP = HERE / "loop.py"
PACKAGE = HERE.parents[2] / "python"
# Name, what the loop does, and whether it is watched.
KINDS = (("without marks", "none", False), ("not watched", "marks", False),
         ("watched", "marks", True))


def arguments():
    parser = argparse.ArgumentParser(prog="marks", usage=__doc__.split("\n\n")[0][len("usage: "):])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--out", default="marks.json")
    parser.add_argument("chokepoint")
    return parser.parse_args()


def run(command, watched_by=None):
    """What a job prints, and the steps in its record: (rank, how many)."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        out = folder + "/run"
        front = [watched_by, "run", "--quiet", "--out", out, "--"] if watched_by else []
        said = subprocess.run([*front, sys.executable, str(LOOP), *map(str, command)], check=True,
                              stdout=subprocess.PIPE, env=environment).stdout
        if not watched_by:
            return said, {}
        shown = subprocess.run([watched_by, "export", out, "--to", "json"], check=True,
                               stdout=subprocess.PIPE).stdout
    table = json.loads(shown)["nodes"][0]["tables"]["steps"]
    of_rank = {}
    for row in (dict(zip(table["columns"], values)) for values in table["rows"]):
        if row["source"] == "marks":
            of_rank[row["rank"]] = of_rank.get(row["rank"], 0) + row["merged"]
    return said, of_rank


def cost(asked):
    """Of each kind the median and the 99th percentile of each repetition."""
    found = {name: {"median_us": [], "p99_us": []} for name, _, _ in KINDS}
    for _ in range(asked.repetitions):
        for name, what, is_watched in KINDS:
            said, _ = run([what, asked.steps], asked.chokepoint if is_watched else None)
            took_us = sorted(json.loads(said))
            found[name]["median_us"].append(statistics.median(took_us))
            found[name]["p99_us"].append(took_us[len(took_us) * 99 // 100])
    for name, figures in found.items():
        median_us, p99_us = (statistics.median(figures[key]) for key in ("median_us", "p99_us"))
        print(f"  {name}: median {median_us:.1f} µs, p99 {p99_us:.1f} µs "
              f"(medians of {asked.repetitions})", file=sys.stderr)
    return found


def losses(asked):
    _, of_rank = run(["ranks", asked.ranks, asked.seconds], asked.chokepoint)
    sent = asked.ranks * round(asked.seconds * 200)
    kept = sum(of_rank.values())
    print(f"  {asked.ranks} ranks: {kept} of {sent} steps of {len(of_rank)} ranks in the record",
          file=sys.stderr)
    return {"ranks": asked.ranks, "steps": sent, "recorded": kept}


def main():
    asked = arguments()
    asked.chokepoint = os.path.abspath(asked.chokepoint)
    document = {"cost": cost(asked), "at_once": losses(asked)}
    pathlib.Path(asked.out).write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
