"""Jobs in a chroot: that of Debian's next release, with the PyTorch of today, or one of this
machine's own files. `chokepoint run` stays outside; the mounts are the job's own, and end with it.
"""

import os
import pathlib

from kernel import Skipped

TREE = pathlib.Path(__file__).resolve().parents[2]
IN_ROOT = TREE / "tests/lab/jobs/in_root"
PYTHON = "/usr/bin/python3"  # in either
# Of tests/lab/modern/make; and what else PyTorch loads has nothing to say.
MODERN = {"PYTHONPATH": "/usr/local/lib/chokepoint", "UCX_LOG_LEVEL": "fatal"}


def modern():
    """The one with the PyTorch of today."""
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    place = pathlib.Path(os.environ.get("CHOKEPOINT_MODERN") or f"{cache}/chokepoint/modern")
    if not place.is_dir():
        raise Skipped(f"needs the PyTorch of today in {place}: ./scripts/setup modern")
    return place


def inside(source, lab, host, names=()):
    """Words to put before a program that shall have another root folder, in which are the files of
    `source`, this tree, and what the lab's hosts share."""
    folder = lab.folder / "roots" / host.name
    root, lines = folder / "root", folder / "names"
    root.mkdir(parents=True)
    lines.write_text("".join(f"{line}\n" for line in names))
    return ["unshare", "--mount", IN_ROOT, root, source, lines, TREE, lab.folder, "--"]
