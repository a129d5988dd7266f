#!/usr/bin/env python3
"""Fails on a GitHub workflow that could not run.

usage: workflows.py [ROOT]

Each has a name, triggers and jobs; each job a machine, a limit of time and steps; each step either
`run` or `uses` with a version, and no key that GitHub does not know. shellcheck reads what is run, and
the scripts of this tree that it calls are there.
"""
import pathlib
import re
import shutil
import subprocess
import sys

import yaml

SKIPPED = 77
JOB_KEYS = {"name", "needs", "if", "runs-on", "container", "services", "permissions", "env", "defaults",
            "strategy", "steps", "timeout-minutes", "outputs", "concurrency", "continue-on-error"}
STEP_KEYS = {"name", "id", "if", "uses", "with", "run", "shell", "env", "working-directory",
             "timeout-minutes", "continue-on-error"}
WORKFLOW_KEYS = {"name", "on", "permissions", "env", "defaults", "concurrency", "jobs"}
ACTION = re.compile(r"[\w.-]+/[\w./-]+@v?\d[\w.]*")


def shell_complaints(script):
    done = subprocess.run(["shellcheck", "--shell=bash", "-"], input=script, text=True,
                          stdout=subprocess.PIPE)
    return [line for line in done.stdout.splitlines() if "SC" in line]


def step_complaints(root, step):
    yield from (f"step has an unknown key '{key}'" for key in step.keys() - STEP_KEYS)
    if ("run" in step) == ("uses" in step):
        yield f"step '{step.get('name')}' has to have one of run and uses"
    elif "uses" in step and not ACTION.fullmatch(step["uses"]):
        yield f"'{step['uses']}' names no version"
    elif "run" in step:
        yield from shell_complaints(step["run"])
        for script in re.findall(r"(?<![\w/])\./(\S+)", step["run"]):
            if not (root / script).exists():
                yield f"runs ./{script}, which is not there"


def complaints(root, path):
    # YAML 1.1 reads `on` as true.
    flow = {("on" if key is True else key): value
            for key, value in yaml.safe_load(path.read_text()).items()}
    yield from (f"unknown key '{key}'" for key in flow.keys() - WORKFLOW_KEYS)
    yield from (f"'{key}' is missing" for key in ("name", "on", "jobs") if not flow.get(key))
    for name, job in flow.get("jobs", {}).items():
        yield from (f"job {name}: unknown key '{key}'" for key in job.keys() - JOB_KEYS)
        yield from (f"job {name}: '{key}' is missing"
                    for key in ("runs-on", "timeout-minutes", "steps") if key not in job)
        for step in job.get("steps", []):
            yield from (f"job {name}: {text}" for text in step_complaints(root, step))


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    if not shutil.which("shellcheck"):
        print("skipped: shellcheck is missing: ./scripts/setup installs it")
        return SKIPPED
    found = [f"{path.relative_to(root)}: {text}"
             for path in sorted((root / ".github/workflows").glob("*.y*ml"))
             for text in complaints(root, path)]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
