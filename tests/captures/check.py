#!/usr/bin/env python3
"""usage: check.py CHOKEPOINT KIND FUNCTION

Makes one capture, has CHOKEPOINT read it, and compares with the truth, field by field. Exit codes:
0 they agree, 1 they do not.
"""

import json
import os
import subprocess
import sys

import kinds

NEAR = 0.02


def differences(found, wanted, place=""):
    """What is wanted and not found; what is found beside it is nobody's business."""
    if isinstance(wanted, dict):
        for name, value in wanted.items():
            inside = found.get(name, "nothing") if isinstance(found, dict) else "nothing"
            yield from differences(inside, value, f"{place}.{name}" if place else name)
    elif isinstance(wanted, list):
        if not isinstance(found, list) or len(found) != len(wanted):
            yield f"{place}: {len(found)} instead of {len(wanted)}"
            return
        for number, (one, other) in enumerate(zip(found, wanted)):
            yield from differences(one, other, f"{place}[{number}]")
    elif not same(found, wanted, place):
        yield f"{place}: {found!r} instead of {wanted!r}"


def same(found, wanted, place):
    """Distributions are kept in classes, so their figures are near; counts are exact."""
    if "_ms." in place and isinstance(found, (int, float)):
        return abs(found - wanted) <= NEAR * wanted
    return found == wanted


def analysed(program, tape):
    """In memory alone: the capture goes through a file without a name."""
    file = os.memfd_create("capture")
    os.write(file, tape.bytes())
    done = subprocess.run([program, "capture", "-r", f"/proc/self/fd/{file}", "--json",
                           *tape.flags], pass_fds=[file], capture_output=True, text=True,
                          timeout=60)
    if done.returncode != 0:
        sys.exit(f"exit status {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def main(program, kind, name):
    function = next(one for one in kinds.functions(kind) if one.__name__ == name)
    tape = kinds.made(function)
    wrong = list(differences(analysed(program, tape), tape.truth()))
    if wrong:
        print(f"{name}: {function.__doc__}\n  " + "\n  ".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
