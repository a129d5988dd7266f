#!/usr/bin/env python3
"""clang-tidy over every source of a built tree, on all cores.

usage: tidy.py BUILD

A source that was clean costs nothing until it changes, or a header of this tree that it includes,
or its flags, or .clang-tidy, or the tool: a stamp in BUILD/lint/tidy holds the hash of all these.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = "clang-tidy-19"
SKIPPED = 77
# GCC's flags that clang does not know, and what libstdc++ deprecates but uses itself.
NOT_OURS = ["--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-deprecated-declarations"]


def dependencies(build):
    """Object → files it was made from, as ninja noted them."""
    output = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    found = {}
    for line in output.splitlines():
        if line.startswith("    "):
            found[name].append(line.strip())
        elif ":" in line:
            name = line.split(":")[0]
            found[name] = []
    return found


def object_of(command):
    words = shlex.split(command["command"])
    return words[words.index("-o") + 1]


def of_this_tree(build, paths):
    for path in paths:
        path = (build / path).resolve()
        if path.is_relative_to(ROOT) and not path.is_relative_to(build):
            yield path


def contents(paths):
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(set(paths))]


class Unit:
    """One source, and the stamp that says it was clean."""

    def __init__(self, build, command, paths, common):
        self.source = pathlib.Path(command["file"])
        key = [str(self.source), command["command"], common]
        # A source whose headers are not known is looked at every time.
        self.stamp = None
        if paths:
            key += contents(list(of_this_tree(build, paths)) + [self.source])
            digest = hashlib.sha256("\n".join(key).encode()).hexdigest()
            self.stamp = build / "lint" / "tidy" / digest

    def is_clean(self):
        return self.stamp is not None and self.stamp.exists()


def units(build):
    version = subprocess.run([TOOL, "--version"], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    common = version + (ROOT / ".clang-tidy").read_text()
    known = dependencies(build)
    commands = json.loads((build / "compile_commands.json").read_text())
    return [Unit(build, command, known.get(object_of(command)), common)
            for command in commands
            if pathlib.Path(command["file"]).is_relative_to(ROOT)
            and not pathlib.Path(command["file"]).is_relative_to(build)]


def look(build, unit):
    done = subprocess.run([TOOL, "--quiet", "-p", build, *NOT_OURS, unit.source], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode == 0:
        if unit.stamp:
            unit.stamp.touch()
        return None
    return done.stdout or done.stderr


def forget_all_but(build, kept):
    stamps = {unit.stamp for unit in kept}
    for stamp in (build / "lint" / "tidy").iterdir():
        if stamp not in stamps:
            stamp.unlink()


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    if not shutil.which(TOOL):
        print(f"skipped: {TOOL} is missing: ./scripts/setup installs it")
        return SKIPPED
    build = pathlib.Path(sys.argv[1]).resolve()
    (build / "lint" / "tidy").mkdir(parents=True, exist_ok=True)

    every = units(build)
    forget_all_but(build, every)
    changed = [unit for unit in every if not unit.is_clean()]
    print(f"{len(every)} sources, {len(changed)} of them to look at", flush=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = [text for text in pool.map(lambda unit: look(build, unit), changed) if text]
    # A header's finding comes from every source that includes it.
    print("\n".join(dict.fromkeys(line for text in complaints for line in text.splitlines())))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
