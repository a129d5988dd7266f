"""The constants by which attribution judges, found in its sources, and a tree of the same sources in
which each is a variable that lists itself (fitted.h)."""

import dataclasses
import os
import pathlib
import re
import shutil

FOLDERS = ("attribution", "limits", "phases", "replay")  # of analysis/
TABLE = "limits/limits.def"
THRESHOLDS = "limits/thresholds.h"
HEADER = "tests/corpus/fit/fitted.h"
DEFINED = re.compile(r"^(?P<indent> *)(?P<inline>inline )?constexpr "
                     r"(?P<type>double|std::int64_t|std::size_t|int) (?P<name>k[A-Z]\w*)"
                     r"(?: =\s+(?P<value>[^;]+)|\{(?P<braced>[^;]+)\});", re.MULTILINE)
ROW = re.compile(r"CHOKEPOINT_THRESHOLD\((k\w+),")
ROW_CONSTANT = "inline constexpr auto name = value;"
# Said by gcc of one that must be known when it compiles.
UNUSABLE = re.compile(r"the value of ‘(?:\w+::)*(?:\{anonymous\}::)?(?:\w+::)*(k\w+)’ is not usable in a "
                      r"constant expression")


@dataclasses.dataclass(frozen=True)
class Constant:
    file: str  # below analysis/
    name: str

    @property
    def key(self):
        return f"{self.file}:{self.name}"


def sources(analysis):
    for folder in FOLDERS:
        for file in sorted((analysis / folder).iterdir()):
            if file.suffix in (".cc", ".h"):
                yield file.relative_to(analysis).as_posix(), file


def found_in(analysis, kept=()):
    """All but those of these names."""
    analysis = pathlib.Path(analysis)
    names = [Constant(TABLE, name) for name in ROW.findall((analysis / TABLE).read_text())]
    for name, file in sources(analysis):
        names += [Constant(name, match["name"]) for match in DEFINED.finditer(file.read_text())]
    return [each for each in names if each.name not in kept]


def variable(key, kind, name, value, inline):
    """In the place of its definition."""
    word = "inline" if inline else "static"
    return (f"{word} {kind} {name} = ::chokepoint::fit::listed<{kind}>("
            f"{key}, &{name}, []() -> {kind} {{ return {value}; }});")


def made_variables(name, text, kept):
    """The source with each constant as a variable."""
    def one(match):
        if match["name"] in kept:
            return match[0]
        return match["indent"] + variable(
            f'"{name}:{match["name"]}"', match["type"], match["name"],
            match["value"] or match["braced"], match["inline"])
    changed = DEFINED.sub(one, text)
    if name == THRESHOLDS:
        changed = changed.replace(
            ROW_CONSTANT, variable(f'"{TABLE}:" #name', "decltype(value)", "name", "value", True))
    if changed == text:
        return text
    include = f'#include "{HEADER}"\n'
    return (changed.replace("#pragma once\n", f"#pragma once\n{include}", 1)
            if "#pragma once\n" in changed else include + changed)


def written(file, text):
    """Where it is the same already, what was built of it stays."""
    if not file.exists() or file.read_text() != text:
        file.write_text(text)


def link_to(target, link):
    link.parent.mkdir(parents=True, exist_ok=True)
    if link.is_dir() and not link.is_symlink():
        shutil.rmtree(link)
    if not link.is_symlink():
        link.symlink_to(target)


def lay_tree(root, tree, kept):
    """`tree`: links to all of `root`, but for the folders with constants."""
    left_out = {".git", "build", "analysis"}
    (tree / "analysis").mkdir(parents=True, exist_ok=True)
    for place, names in ((pathlib.Path(), set(os.listdir(root)) - left_out),
                         (pathlib.Path("analysis"), set(os.listdir(root / "analysis")) - {*FOLDERS})):
        for name in names:
            link_to(root / place / name, tree / place / name)
    if (root / "build" / "web").is_dir():  # what npm fetched
        link_to(root / "build" / "web", tree / "build" / "web")
    for folder in FOLDERS:
        (tree / "analysis" / folder).mkdir(exist_ok=True)
        here = {file.name for file in (root / "analysis" / folder).iterdir()}
        for gone in {file.name for file in (tree / "analysis" / folder).iterdir()} - here:
            (tree / "analysis" / folder / gone).unlink()
    for name, file in sources(root / "analysis"):
        written(tree / "analysis" / name, made_variables(name, file.read_text(), kept))
    for table in (root / "analysis").glob("*/*.def"):
        if table.parent.name in FOLDERS:
            shutil.copy2(table, tree / "analysis" / table.parent.name / table.name)
