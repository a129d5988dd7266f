"""usage: predict.py CHOKEPOINT PREDICT.md

Types every command of docs/guide/predict.md that stands behind a `$`, block by block in one folder,
and holds what it prints against the lines that follow: each must be printed, in this order. A line of
`…` stands for any others; a block without `$` is not typed.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
SECONDS = 30


def typed(text):
    """Commands, and the lines that are printed."""
    for block in BLOCK.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.splitlines()
            yield command, [line.rstrip() for line in lines if line.strip() not in ("…", "")]


def missing(lines, printed):
    """The first line that was not printed behind those before it."""
    rest = iter([line.rstrip() for line in printed.splitlines()])
    return next((line for line in lines if line not in rest), None)


def main():
    program, page = (pathlib.Path(each).resolve() for each in sys.argv[1:])
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "COLUMNS": "100"}
    wrong, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for command, lines in typed(page.read_text()):
            if "--from" in command or "--check" in command:
                continue  # runs of the reader's own
            count += 1
            done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  timeout=SECONDS)
            line = missing(lines, done.stdout)
            if line or done.returncode:
                wrong.append(f"$ {command}\nexit status {done.returncode}, not printed: {line}\n"
                             f"{done.stdout}")
    print("\n".join(wrong) or f"{count} commands, as the page says")
    return 1 if wrong or count < 5 else 0


if __name__ == "__main__":
    sys.exit(main())
