"""The program with constants that can be multiplied, built below build/fit."""

import re
import subprocess

import constants
from rows import Refused

MOST_ROUNDS = 8
PROGRAM = "tests/corpus/fit_judge"


def built(root):
    """The program, and the names of constants that the compiler must know."""
    tree, kept = root / "build" / "fit", set()
    for _ in range(MOST_ROUNDS):
        constants.lay_tree(root, tree, kept)
        said = build(tree)
        if said is None:
            return tree / "build" / "release" / PROGRAM, kept
        unusable = set(constants.UNUSABLE.findall(said)) - kept
        if not unusable:
            raise Refused("\n".join(line for line in said.splitlines()
                                    if re.search(r"error|FAILED", line))[:4000])
        kept |= unusable
    raise Refused(f"{tree}: it does not compile after {MOST_ROUNDS} rounds")


def build(tree):
    """Nothing where it is built, else what was printed."""
    for command in (["cmake", "--preset", "release"],
                    ["ninja", "-k", "0", "-C", "build/release", "fit_judge"]):
        done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return done.stdout + done.stderr
    return None
