#!/usr/bin/env python3
"""The unit test programs of a built tree that a change can break.

usage: affected.py BUILD FILE…

Prints one name a line. A program is affected by the files it is compiled from, and by the folders
whose headers it includes itself. Programs that only link such a folder because another needs it are
left out: the whole run is for them.
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def ninja(build, *words):
    return subprocess.run(["ninja", "-C", build, *words], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def files_of_objects(build):
    """Object → files of this tree that it was compiled from."""
    found, files = {}, set()
    for line in ninja(build, "-t", "deps").splitlines():
        if line.startswith("    "):
            path = (build / line.strip()).resolve()
            if path.is_relative_to(ROOT) and not path.is_relative_to(build):
                files.add(path)
        elif ":" in line:
            files = found[line.split(":")[0]] = set()
    return found


def files_of_programs(build):
    """Test program → files of this tree that its own objects were compiled from."""
    found = {}
    for name, files in files_of_objects(build).items():
        folder = next((part for part in pathlib.PurePath(name).parts if part.endswith(".dir")), "")
        program = folder.removesuffix(".dir")
        if name.startswith("tests/") and program.endswith("_tests"):
            found.setdefault(program, set()).update(files)
    return found


def is_affected(files, changed):
    folders = {path.parent for path in files}
    return any(path in files or path.parent in folders and path.suffix in (".cc", ".h")
               for path in changed)


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    build = pathlib.Path(sys.argv[1]).resolve()
    changed = [pathlib.Path(word).resolve() for word in sys.argv[2:]]
    for program, files in sorted(files_of_programs(build).items()):
        if is_affected(files, changed):
            print(program)
    return 0


if __name__ == "__main__":
    sys.exit(main())
