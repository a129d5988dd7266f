#!/usr/bin/env python3
"""No class, enumeration or inline function of a named namespace is defined twice in the product.

A linker merges two definitions of one name without a word, and either part may then run the
other's code: the one-definition rule. Names of unnamed namespaces belong to their unit and may
repeat.
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = ("base", "measure", "probe", "capture", "rdma", "analysis", "preflight", "main.cc")
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|'
                   r"(?<!\w)'(?:[^'\\\n]|\\.)*'|#[^\n]*(?:\\\n[^\n]*)*|[{};]", re.DOTALL)
NAMESPACE = re.compile(r"\bnamespace\s*([\w:]*)\s*$")
TYPE = re.compile(r"(?:^|[\s>])(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+"
                  r"(?:\[\[[^\]]*\]\]\s*)?([\w:]+(?:<[^;{}]*>)?)\s*(?:final\s*)?(?::[^:].*)?$",
                  re.DOTALL)
FUNCTION = re.compile(r"\binline\s[^=;{}]*?\b(\w+)\s*(\([^{}]*\))(?:\s*(?:const|noexcept|->[^{}]*))*$",
                      re.DOTALL)


def definitions(text):
    """(qualified name, line) of each type and inline function at namespace scope."""
    scopes = []  # a namespace's name, "" for an unnamed one, None for any other brace
    start = 0
    blanked = list(text)
    for match in TOKEN.finditer(text):
        token = match.group()
        if token not in "{};":
            blanked[match.start():match.end()] = " " * len(token)
            continue
        head = "".join(blanked[start:match.start()]).strip()
        start = match.end()
        if token == "}":
            if scopes:
                scopes.pop()
        elif token == "{":
            named = NAMESPACE.search(head)
            if named is None and all(scope is not None for scope in scopes) and "" not in scopes:
                line = text.count("\n", 0, match.start()) + 1
                if found := TYPE.search(head):
                    yield "::".join([*scopes, found.group(1)]), line
                elif found := FUNCTION.search(head):
                    signature = re.sub(r"\s+", " ", "".join(found.groups()))
                    yield "::".join([*scopes, signature]), line
            scopes.append(named.group(1) if named else None)


def main():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", *PARTS], check=True, text=True,
                            stdout=subprocess.PIPE).stdout.split()
    places = collections.defaultdict(list)
    for path in listed:
        if path.endswith((".h", ".cc")) and (ROOT / path).exists():
            for name, line in definitions((ROOT / path).read_text()):
                places[name].append(f"{path}:{line}")
    if len(places) < 1000:
        print(f"one_definition: only {len(places)} definitions were found: is this reading C++?")
        return 1
    repeated = {name: at for name, at in places.items() if len(at) > 1}
    for name, at in sorted(repeated.items()):
        print(f"{at[0]}: {name} is defined again at {', '.join(at[1:])}")
    return 1 if repeated else 0


if __name__ == "__main__":
    sys.exit(main())
