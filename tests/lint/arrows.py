#!/usr/bin/env python3
"""Fails on an include, or a link between folders, against the design's arrows.

usage: arrows.py [ROOT]
"""
import dataclasses
import os
import pathlib
import re
import sys

# Folder → what it may include besides itself. A folder named here speaks for those below it that
# are not named themselves.
ARROWS = {
    "base/sys": [],
    "base/math": ["base/sys"],
    "base/net": ["base/sys", "base/math"],
    "base/host": ["base/sys", "base/math", "base/net"],
    "base/gpu": ["base/sys"],
    "base/cli": ["base/sys", "base/math", "base/net"],
    "base/page": ["base/sys", "base/cli"],
    "base/checks": ["base/sys", "base/math", "base/net", "base/host", "base/cli"],
    "base/record": ["base/sys", "base/math", "base/host"],
    "base/control": ["base/sys", "base/math", "base/net", "base/cli"],
    "base/baseline": ["base/sys", "base/host", "base/cli", "base/record"],
    "probe": ["base"],
    "capture": ["base"],
    "rdma": ["base"],
    "analysis": ["base"],
    "preflight": ["base"],
    "preflight/result": ["base"],
    "preflight/task": ["base"],
    "preflight/plan": ["base", "preflight/result"],
    "preflight/agent": ["base", "preflight/result", "preflight/task"],
    "preflight/agents": ["base", "preflight/result", "preflight/task"],
    "preflight/lead": ["base", "preflight/result", "preflight/task", "preflight/plan",
                       "preflight/agents"],
    "preflight/judge": ["base", "preflight/result"],
    "preflight/report": ["base", "preflight/result", "preflight/judge"],
    "preflight/launch": ["base"],
    "main.cc": ["base", "probe", "capture", "rdma", "analysis", "preflight"],
    "tests": ["base", "probe", "capture", "rdma", "analysis", "preflight"],
}

# Foreign headers that one folder alone may include; tests may include anything.
RESERVED_HEADERS = {
    r"sqlite3\.h": "base/record",
    r"pcap(/.*)?\.h": "capture/source",
    r"(infiniband|rdma)/.*": "rdma/verbs",
}

# The same, for what their CMake targets link.
RESERVED_LIBRARIES = {
    r"SQLite.*": "base/record",
    r".*PCAP.*": "capture/source",
    r".*(IBVERBS|RDMACM|ibverbs|rdmacm).*": "rdma/verbs",
}

NOT_SOURCES = {"build", "docs", "scripts", "packaging", "cmake"}


@dataclasses.dataclass(order=True)
class Violation:
    path: str
    line: int
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


def below(path, folder):
    return path == folder or path.startswith(folder + "/")


def ruled_by(path):
    """The most particular folder of ARROWS that speaks for this path, if any."""
    return max((folder for folder in ARROWS if below(path, folder)), key=len, default=None)


def may_reach(path, target):
    rule = ruled_by(path)
    return below(target, rule) or any(below(target, folder) for folder in ARROWS[rule])


def reserved_for(name, table):
    return next((folder for pattern, folder in table.items() if re.fullmatch(pattern, name)), None)


def against_arrows(path, target):
    if may_reach(path, target):
        return None
    allowed = ", ".join(ARROWS[ruled_by(path)]) or "nothing else"
    return f"{target} is out of reach: {ruled_by(path)} may include {allowed}"


def against_reservation(path, name, table):
    folder = reserved_for(name, table)
    if folder is None or below(path, folder) or below(path, "tests"):
        return None
    return f"{name} is for {folder} alone"


def judge_include(root, path, quote, header):
    if (root / header).is_file():
        return against_arrows(path, header)
    if quote == '"':
        return f"\"{header}\" is no file of this tree; name it from the root"
    return against_reservation(path, header, RESERVED_HEADERS)


def judge_source(root, path):
    if ruled_by(path) is None:
        yield Violation(path, 1, "its folder has no arrows; give it some in tests/lint/arrows.py")
        return
    lines = (root / path).read_text(errors="replace").splitlines()
    for number, line in enumerate(lines, start=1):
        include = re.match(r"\s*#\s*include(?:_next)?\s*([\"<])([^\">]+)[\">]", line)
        message = include and judge_include(root, path, include.group(1), include.group(2))
        if message:
            yield Violation(path, number, message)


def folder_targets(root):
    """CMake targets are named after their folders, with '_' for '/'."""
    folders = [str(pathlib.PurePath(path).parent) for path in files(root)
               if path.endswith("/CMakeLists.txt")]
    return {folder.replace("/", "_"): folder for folder in folders}


def judge_links(root, path, targets):
    folder = str(pathlib.PurePath(path).parent)
    text = re.sub(r"#.*", "", (root / path).read_text())
    if ruled_by(folder) is None:
        return
    for call in re.finditer(r"(?:chokepoint_folder|target_link_libraries)\s*\(([^)]*)\)", text):
        line = text.count("\n", 0, call.start()) + 1
        for word in call.group(1).split():
            target = targets.get(word)
            message = (against_arrows(folder, target) if target
                       else against_reservation(folder, word, RESERVED_LIBRARIES))
            if message:
                yield Violation(path, line, message)


def files(root):
    for folder, subfolders, names in os.walk(root):
        if pathlib.Path(folder) == root:
            subfolders[:] = [name for name in subfolders
                             if not name.startswith(".") and name not in NOT_SOURCES]
        subfolders.sort()
        for name in sorted(names):
            yield str(pathlib.Path(folder, name).relative_to(root))


def violations(root):
    targets = folder_targets(root)
    found = []
    for path in files(root):
        if path.endswith((".cc", ".h", ".cpp", ".hpp", ".c", ".cu")):
            found += judge_source(root, path)
        elif path.endswith("/CMakeLists.txt"):
            found += judge_links(root, path, targets)
    return found


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    found = violations(root.resolve())
    for violation in found:
        print(violation)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
