#!/usr/bin/env python3
"""usage: make.py FOLDER

Writes every capture into FOLDER, with the truth about it beside: NAME.pcap and NAME.json. The same
bytes each time.
"""

import json
import pathlib
import sys

import kinds


def main(folder):
    into = pathlib.Path(folder)
    into.mkdir(parents=True, exist_ok=True)
    for kind in kinds.NAMES:
        for function in kinds.functions(kind):
            tape = kinds.made(function)
            (into / f"{function.__name__}.pcap").write_bytes(tape.bytes())
            told = {"what": " ".join(function.__doc__.split()), **tape.truth()}
            (into / f"{function.__name__}.json").write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
