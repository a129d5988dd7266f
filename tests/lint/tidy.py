#!/usr/bin/env python3
"""clang-tidy over the translation units of a built tree, on all cores: folders where those are one
unit, else single sources.

usage: tidy.py BUILD [product | tests | FILE…]

The product's units (default), those below tests/, or those of the product that a FILE is part of.

A unit that was clean costs nothing until a file of this tree changes that it includes, or its flags,
or a .clang-tidy, or the tool: a stamp in BUILD/lint holds the hash of all these.
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
sys.path.insert(0, str(ROOT / "scripts" / "lib"))
from affected import files_of_objects  # noqa: E402  (the path is set above)

TOOL = "clang-tidy-19"
SKIPPED = 77
# GCC's flags that clang does not know, and what libstdc++ deprecates but uses itself.
NOT_OURS = ["--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-deprecated-declarations"]


def object_of(command):
    words = shlex.split(command["command"])
    return words[words.index("-o") + 1]


def without_precompiled(command):
    """Made by another compiler, and every source includes what it needs."""
    words = shlex.split(command["command"])
    kept = []
    while words:
        word = words.pop(0)
        if word == "-include" and words and words[0].endswith("cmake_pch.hxx"):
            words.pop(0)
        elif word != "-Winvalid-pch":
            kept.append(word)
    return {**command, "command": shlex.join(kept)}


def contents(paths):
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(set(paths))]


class Unit:
    """One translation unit, and the stamp that says it was clean."""

    def __init__(self, build, command, paths, common, stamps):
        self.source = pathlib.Path(command["file"])
        self.commands = stamps
        self.files = (paths or set()) | {self.source}
        key = [str(self.source), command["command"], common]
        # A unit whose headers are not known is looked at every time.
        self.stamp = None
        if paths:
            key += contents(self.files)
            digest = hashlib.sha256("\n".join(key).encode()).hexdigest()
            self.stamp = stamps / digest

    def is_clean(self):
        return self.stamp is not None and self.stamp.exists()


def units(build, tests, stamps):
    version = subprocess.run([TOOL, "--version"], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    configured = [ROOT / ".clang-tidy", ROOT / "packaging" / "portable" / ".clang-tidy"]
    common = version + "".join(path.read_text() for path in configured)
    known = files_of_objects(build)
    commands = [without_precompiled(command)
                for command in json.loads((build / "compile_commands.json").read_text())]
    (stamps / "compile_commands.json").write_text(json.dumps(commands))
    return [Unit(build, command, known.get(object_of(command)), common, stamps)
            for command in commands if is_wanted(build, command, tests)]


def is_wanted(build, command, tests):
    """Not what is generated, but for the list of a folder's sources that is compiled as one."""
    source = pathlib.Path(command["file"])
    is_generated = source.is_relative_to(build)
    if is_generated and source.parent.name != "Unity":
        return False
    return source.relative_to(build if is_generated else ROOT).is_relative_to("tests") == tests


def look(unit):
    done = subprocess.run([TOOL, "--quiet", "-p", unit.commands, *NOT_OURS, unit.source], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode == 0:
        if unit.stamp:
            unit.stamp.touch()
        return None
    return done.stdout or done.stderr


def is_part(unit, files):
    """Sources, which stand in one unit; and headers beside them, which other units include, too."""
    own = {path.parent for path in unit.files if path.suffix == ".cc"}
    return any(path in unit.files and path.parent in own for path in files)


def forget_all_but(stamps, kept):
    wanted = {unit.stamp for unit in kept}
    for stamp in stamps.iterdir():
        if stamp not in wanted and stamp.name != "compile_commands.json":
            stamp.unlink()


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    if not shutil.which(TOOL):
        print(f"skipped: {TOOL} is missing: ./scripts/setup installs it")
        return SKIPPED
    build = pathlib.Path(sys.argv[1]).resolve()
    if not (build / "compile_commands.json").exists():
        print(f"{build} is not built", file=sys.stderr)
        return 2
    what = sys.argv[2:] or ["product"]
    tests = what == ["tests"]
    stamps = build / "lint" / ("tidy-tests" if tests else "tidy")
    stamps.mkdir(parents=True, exist_ok=True)

    every = units(build, tests, stamps)
    forget_all_but(stamps, every)
    if what not in (["product"], ["tests"]):
        files = {pathlib.Path(word).resolve() for word in what}
        every = [unit for unit in every if is_part(unit, files)]
    changed = sorted((unit for unit in every if not unit.is_clean()),
                     key=lambda unit: len(unit.files), reverse=True)
    print(f"{len(every)} units, {len(changed)} of them to look at", flush=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = [text for text in pool.map(look, changed) if text]
    # A header's finding comes from every source that includes it.
    print("\n".join(dict.fromkeys(line for text in complaints for line in text.splitlines())))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
