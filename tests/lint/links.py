#!/usr/bin/env python3
"""Relative links in documents lead somewhere, and no tracked file names a path of the machine it
was written on."""
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Split, so that this file does not name them itself.
MACHINE_PATHS = re.compile(r"(?<![\w.$}])/(?:" + "|".join(("wo" + "rk", "ro" + "ot")) + r")/")


def tracked():
    output = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True, stdout=subprocess.PIPE).stdout
    paths = [ROOT / name.decode() for name in output.split(b"\0") if name]
    return [path for path in paths if path.is_file()]


def anchors(document):
    """What GitHub makes of headings."""
    headings = re.findall(r"^#+\s+(.*?)\s*$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_link(document, link):
    target, _, anchor = link.partition("#")
    path = (document.parent / target).resolve() if target else document
    if not path.exists():
        return "leads nowhere"
    if anchor and path.suffix == ".md" and anchor not in anchors(path):
        return "has no such heading"
    return None


def judge_document(document):
    text = re.sub(r"```.*?```", lambda code: "\n" * code.group().count("\n"), document.read_text(),
                  flags=re.DOTALL)
    for number, line in enumerate(text.splitlines(), start=1):
        for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            if not re.match(r"[a-z+]+:", link) and broken_link(document, link):
                yield number, f"link to {link} {broken_link(document, link)}"


def judge_paths(path):
    content = path.read_bytes()
    if b"\0" in content:
        return
    for number, line in enumerate(content.decode(errors="replace").splitlines(), start=1):
        if MACHINE_PATHS.search(line):
            yield number, "names a path of one machine"


def main():
    if not shutil.which("git"):
        print("skipped: git is missing")
        return 77
    failed = False
    for path in tracked():
        found = list(judge_paths(path)) + (list(judge_document(path)) if path.suffix == ".md" else [])
        for number, message in found:
            print(f"{path.relative_to(ROOT)}:{number}: {message}")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
