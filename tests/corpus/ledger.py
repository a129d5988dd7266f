"""ledger.tsv: each time that a result was accepted, with the rules it is of, the sets of plays that
joined the corpus with it, and why what was lost may be lost. And the seed of the next set, which
follows from the rules, so that nobody knows it before they are frozen."""

import subprocess
import time

import rows
from rows import Refused

COLUMNS = ("date", "analysis", "sets", "before", "after", "reason")
NONE = "-"
SEED_DIGITS = 8


def git(folder, *words):
    done = subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise Refused(f"git {words[0]}: {done.stderr.strip() or done.returncode}")
    return done.stdout.strip()


def rules(folder):
    """The hash of analysis/ as it was committed, and as it is."""
    if git(folder, "status", "--porcelain", "--", ":/analysis"):
        raise Refused("analysis/ has changes that are not committed: the hash of its tree is that "
                      "of other rules")
    return git(folder, "rev-parse", "HEAD:analysis")


def read(file):
    return rows.read(file, COLUMNS)


def sets_in(lines):
    return {one for line in lines for one in line["sets"].split(",") if one != NONE}


def append(file, tree, sets, before, after, reason):
    lines = read(file)
    new = sorted(sets - sets_in(lines))
    rows.write(file, COLUMNS, [*lines, {
        "date": time.strftime("%Y-%m-%d", time.gmtime()), "analysis": tree,
        "sets": ",".join(new) or NONE, "before": before, "after": after,
        "reason": reason or NONE}])


def seed(tree, known):
    """`known`: sets that are there already."""
    found = str(int(tree[:SEED_DIGITS], 16))
    if found in known:
        raise Refused(f"there is a set of these rules already, seed {found}: each tree of "
                      "analysis/ has one")
    return found
