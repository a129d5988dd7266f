"""usage: documents.py CHOKEPOINT WRITE_PREFLIGHT

What the commands that read runs print of real ones, with steps, without and without a job, what is
computed or looked up without a run, and preflights of made-up clusters, held against
docs/reference/schemas.
"""

import json
import os
import subprocess
import sys
import tempfile

import schemas

SKIPPED = 77
CLUSTERS = ("two", "eight", "racks", "empty", "hostile", "full", "clean")
STEPS = "for i in 1 2 3 4 5 6 7 8; do echo step $i; sleep 0.05; done"
RUNS = (lambda run: ["run", "--quiet", "--out", run, "--", "sh", "-c", STEPS],
        lambda run: ["run", "--quiet", "--out", run, "--", "true"],
        lambda run: ["probe", "storage", ".", "--bytes", "1M", "--time", "10ms", "--record", run])
JOBS = RUNS[:2]


def printed(*words, status=0):
    done = subprocess.run(words, capture_output=True, check=False)
    if done.returncode != status:
        raise subprocess.CalledProcessError(done.returncode, words, stderr=done.stderr)
    return json.loads(done.stdout)


def documents(program, run, place):
    yield printed(program, "record", "show", run, "--json")
    yield printed(program, "diagnose", run, "--json")
    yield printed(program, "report", run, "--json")
    yield printed(program, "live", run, "--once", "--json")
    yield printed(program, "export", run, "--to", "json")
    yield printed(program, "export", run, "--to", "csv", "-o", f"{place}/csv", "--json")
    yield printed(program, "compare", place, "--json")
    yield printed(program, "runs", place, "--json")


def documents_of_a_job(program, run):
    # Of ranks that exchanged nothing there is no prediction.
    yield printed(program, "predict", "--check", run, "--link", "1G", "--json", status=1)


def documents_without_a_run(program):
    yield printed(program, "explain", "--json")
    yield printed(program, "probe", "processor", "--time", "20ms", "--json")
    figures = [program, "predict", "--parameters", "708M", "--compute", "100ms", "--json"]
    yield printed(*figures, "--link", "10G")
    yield printed(*figures, "--link", "1G", "--rtt", "20ms", "--loss", "0.1%", "--steps", "100",
                  "--upgrade", "25GbE=41000", "--upgrade", "1G=1", "--hour-price", "10")
    yield printed(*figures, "--backend", "gloo", "--ranks", "4", "--measured-time", "3m", "--link",
                  "1G", "--steps", "100", "--window", "64K")
    yield printed(*figures, "--ranks", "4", "--nodes", "2", "--link", "25G", "--intra-link",
                  "32GB/s", "--nics", "2", "--steps", "100", "--epochs", "2", "--power", "300W",
                  "--gpu-memory", "24G", "--upgrade", "2x25GbE=9000")
    yield printed(*figures, "--ranks", "2", "--nodes", "1", "--intra-link", "100GB/s")


def preflights(write_preflight):
    for kind in CLUSTERS:
        yield printed(write_preflight, kind, "json")
        yield printed(write_preflight, kind, "json", "judged")


def main(program, write_preflight):
    if schemas.jsonschema is None:
        print("skipped: needs python3-jsonschema")
        return SKIPPED
    found = []
    for document in (*documents_without_a_run(program), *preflights(write_preflight)):
        found += schemas.faults(document)
    for words in RUNS:
        with tempfile.TemporaryDirectory() as place:
            run = f"{place}/run"
            subprocess.run([program, *words(run)], check=True, capture_output=True, cwd=place)
            of_job = documents_of_a_job(program, run) if words in JOBS else ()
            for document in (*documents(program, run, place), *of_job):
                found += schemas.faults(document)
    print("\n".join(found) or "documents are what their schemas say")
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*map(os.path.abspath, sys.argv[1:])))
