#!/usr/bin/env python3
"""Fails on an include, or a link between folders, against the design's arrows.

usage: arrows.py [--print] [ROOT]

A folder is what chokepoint_folder names in a CMakeLists.txt, and its USES are its arrows: it may
include what it uses, and what that uses. Between the parts only the arrows of PARTS are allowed, and
no arrow leads back. docs/design.md names every folder in its tree. --print draws the arrows.
"""
import dataclasses
import os
import pathlib
import re
import sys

# Part → the parts that its folders may use besides their own.
PARTS = {
    "base": [],
    "measure": ["base"],
    "probe": ["base", "measure"],
    "capture": ["base"],
    "rdma": ["base", "measure"],
    "analysis": ["base"],
    "preflight": ["base", "measure"],
    "main.cc": ["base", "measure", "probe", "capture", "rdma", "analysis", "preflight"],
    "tests": ["base", "measure", "probe", "capture", "rdma", "analysis", "preflight"],
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
DESIGN = "docs/design.md"
BEGIN, END = "<!-- tree -->\n", "<!-- end of tree -->"


@dataclasses.dataclass(order=True)
class Violation:
    path: str
    line: int
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


@dataclasses.dataclass
class Folder:
    path: str
    place: str  # the CMakeLists.txt that names it, and the line
    line: int
    uses: list  # folders
    libraries: list  # others' targets


def files(root):
    for folder, subfolders, names in os.walk(root):
        if pathlib.Path(folder) == root:
            subfolders[:] = [name for name in subfolders
                             if not name.startswith(".") and name not in NOT_SOURCES]
        subfolders.sort()
        for name in sorted(names):
            yield str(pathlib.Path(folder, name).relative_to(root))


def part_of(path):
    return path.split("/")[0]


class Tree:
    """The folders that CMake knows, and what each may include."""

    KEYWORDS = {"USES", "LINKS", "SOURCES", "EXCEPT", "BARE", "SEPARATE"}

    def __init__(self, root):
        self.root = root
        self.folders = {}
        for path in files(root):
            if path.endswith("CMakeLists.txt"):
                self.read(path)
        targets = {folder.replace("/", "_"): folder for folder in self.folders}
        for folder in self.folders.values():
            words = folder.uses + folder.libraries
            folder.uses = [targets[word] for word in words if word in targets]
            folder.libraries = [word for word in words if word not in targets]

    def read(self, path):
        text = re.sub(r"#.*", "", (self.root / path).read_text())
        for call in re.finditer(r"chokepoint_folder\s*\(([^)]*)\)", text):
            name, *words = call.group(1).split()
            lists = {"": []}
            now = lists[""]
            for word in words:
                if word in self.KEYWORDS:
                    now = lists.setdefault(word, [])
                else:
                    now.append(word)
            line = text.count("\n", 0, call.start()) + 1
            self.folders[name] = Folder(name, path, line, lists.get("USES", []),
                                        lists.get("LINKS", []))

    def owner(self, path):
        """The folder that a file belongs to; a module's folder belongs to the one above."""
        found = [folder for folder in self.folders if path.startswith(folder + "/")]
        return max(found, key=len, default=None)

    def reach(self, folder):
        found, left = set(), [folder]
        while left:
            at = left.pop()
            if at not in found:
                found.add(at)
                left += self.folders[at].uses
        return found

    def cycles(self):
        for name, folder in sorted(self.folders.items()):
            for used in folder.uses:
                if used != name and name in self.reach(used):
                    yield Violation(folder.place, folder.line,
                                    f"{name} and {used} lead to each other")

    def drawn(self):
        """The arrows within each part, without those that follow from others."""
        lines = []
        for part in PARTS:
            own = [name for name in self.folders if part_of(name) == part and part != "tests"]
            width = max(map(len, own), default=0)
            for name in own:
                used = [use for use in self.folders[name].uses if part_of(use) == part]
                indirect = set().union(*(self.reach(use) - {use} for use in used), set())
                direct = [use.removeprefix(part + "/") for use in used if use not in indirect]
                shown = f"{name:{width}}  ← {', '.join(sorted(direct))}" if direct else name
                lines.append(shown)
            if own:
                lines.append("")
        return "\n".join(lines[:-1]) + "\n"


def reserved_for(name, table):
    return next((folder for pattern, folder in table.items() if re.fullmatch(pattern, name)), None)


def against_reservation(path, name, table):
    folder = reserved_for(name, table)
    if folder is None or path == folder or path.startswith(folder + "/") or part_of(path) == "tests":
        return None
    return f"{name} is for {folder} alone"


def against_parts(path, target):
    if part_of(path) not in PARTS:
        return f"{part_of(path)} is no part of the design; give it arrows in tests/lint/arrows.py"
    if part_of(target) in [part_of(path), *PARTS[part_of(path)]]:
        return None
    allowed = ", ".join(PARTS[part_of(path)]) or "nothing else"
    return f"{target} is out of reach: {part_of(path)} may use {allowed}"


def against_uses(tree, path, target):
    mine, theirs = tree.owner(path), tree.owner(target)
    if mine is None or theirs is None or part_of(path) in ("tests", "main.cc"):
        return None
    if theirs in tree.reach(mine):
        return None
    return f"{target} is out of reach: {mine} does not use {theirs} ({tree.folders[mine].place})"


def judge_include(tree, path, quote, header):
    if (tree.root / header).is_file():
        return against_parts(path, header) or against_uses(tree, path, header)
    if quote == '"':
        return f"\"{header}\" is no file of this tree; name it from the root"
    return against_reservation(path, header, RESERVED_HEADERS)


def judge_source(tree, path):
    if part_of(path) not in PARTS:
        yield Violation(path, 1, "its folder has no arrows; give it some in tests/lint/arrows.py")
        return
    lines = (tree.root / path).read_text(errors="replace").splitlines()
    for number, line in enumerate(lines, start=1):
        include = re.match(r"\s*#\s*include(?:_next)?\s*([\"<])([^\">]+)[\">]", line)
        message = include and judge_include(tree, path, include.group(1), include.group(2))
        if message:
            yield Violation(path, number, message)


def judge_links(tree):
    for folder in tree.folders.values():
        for used in folder.uses:
            message = against_parts(folder.path, used)
            if message:
                yield Violation(folder.place, folder.line, message)
        for library in folder.libraries:
            message = against_reservation(folder.path, library, RESERVED_LIBRARIES)
            if message:
                yield Violation(folder.place, folder.line, message)
    yield from tree.cycles()


def judge_design(tree):
    design = tree.root / DESIGN
    if not design.exists():
        return
    drawn = design.read_text().partition(BEGIN)[2].partition(END)[0]
    blocks = dict(re.findall(r"^(\w+)/ (.*(?:\n .*)*)", drawn, re.MULTILINE))
    named = {part: set(re.findall(r"\b([\w-]+)/(?!\w)", text)) for part, text in blocks.items()}
    for folder in tree.folders:
        part, *below = folder.split("/")
        for name in below:
            if part in PARTS and part != "tests" and name not in {*named.get(part, ()), "commands"}:
                yield Violation(DESIGN, 1, f"the tree does not name {folder}")
    for part, text in blocks.items():
        for line in text.split("\n")[1:]:
            for name in re.match(r" *((?:[\w-]+/(?: |$))*)", line).group(1).split():
                place = f"{part}/{name}"
                if not any(f"{folder}/".startswith(place) for folder in tree.folders):
                    yield Violation(DESIGN, 1, f"the tree names {place} and no target does")


def violations(root):
    tree = Tree(root)
    found = list(judge_links(tree)) + list(judge_design(tree))
    for path in files(root):
        if path.endswith((".cc", ".h", ".cpp", ".hpp", ".c", ".cu", ".def")):
            found += judge_source(tree, path)
    return found


def main():
    words = [word for word in sys.argv[1:] if word != "--print"]
    root = pathlib.Path(words[0] if words else pathlib.Path(__file__).parents[2]).resolve()
    if "--print" in sys.argv[1:]:
        print(Tree(root).drawn(), end="")
        return 0
    found = violations(root)
    for violation in found:
        print(violation)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
