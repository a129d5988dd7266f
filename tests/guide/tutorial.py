"""usage: tutorial.py CHOKEPOINT TUTORIAL.md

Types what docs/guide/tutorial.md says into one shell, block by block, and holds what each prints
against the phrase after `Expect` that follows it. The first block, which builds, was done before.
"""

import os
import pathlib
import re
import subprocess
import sys

SKIPPED = 77
SECONDS = 220
BLOCK = re.compile(r"^```sh\n(.*?)^```\n(.*?)(?=^```sh\n|\Z)", re.MULTILINE | re.DOTALL)
EXPECTED = re.compile(r"Expect `([^`]+)`")
CLEAN_UP = "for host in a b; do ip netns delete cp-$host 2>/dev/null; done; true"
END = "end of block"


def steps(text):
    """What to type, and the phrase that follows or None."""
    for block in list(BLOCK.finditer(text))[1:]:
        expected = EXPECTED.search(block[2])
        yield block[1], expected and expected[1]


def missing():
    if os.geteuid() != 0:
        return "needs root"
    has_torch = subprocess.run(["/usr/bin/python3", "-c", "import torch.distributed"], check=False,
                               capture_output=True).returncode == 0
    return None if has_torch else "needs python3-torch"


def main():
    program, tutorial = (pathlib.Path(each).resolve() for each in sys.argv[1:])
    if why := missing():
        print(f"skipped: {why}")
        return SKIPPED
    typed = list(steps(tutorial.read_text()))
    script = "".join(f"{block}\necho '{END}'\n" for block, _ in typed)
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    try:
        done = subprocess.run(["bash", "-c", script], cwd=tutorial.parents[2], env=environment,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=SECONDS)
    finally:
        subprocess.run(["bash", "-c", CLEAN_UP], check=False)
    printed = done.stdout.split(f"{END}\n")
    wrong = [f"after\n{block}\n'{phrase}' expected, printed was\n{told}"
             for (block, phrase), told in zip(typed, printed) if phrase and phrase not in told]
    if len(printed) != len(typed) + 1:
        wrong.append(f"{len(printed) - 1} of {len(typed)} blocks ended:\n{done.stdout[-2000:]}")
    print("\n".join(wrong) or f"{len(typed)} blocks, as the page says")
    return 1 if wrong or sum(bool(phrase) for _, phrase in typed) < 5 else 0


if __name__ == "__main__":
    sys.exit(main())
