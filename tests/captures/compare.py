#!/usr/bin/env python3
"""usage: compare.py CHOKEPOINT

Every capture by chokepoint, tcptrace and tshark: prints the table of docs/internals/capture.md. A cell has
one figure where all tools agree that have it, else ours / tcptrace's / tshark's. Exit code 1 where a
difference is explained by no rule.
"""

import pathlib
import sys
import tempfile

import check
import kinds
import peers
from differences import RULES

COLUMNS = {"packets": "packets", "bytes": "bytes", "retransmitted": "retransmitted",
           "sent_again_bytes": "bytes of it", "out_of_order": "out of order",
           "duplicates": "copies", "rtt_ms": "RTT ms"}
# tcptrace rounds to a tenth.
NEAR_MS, NEAR_SHARE = 0.051, 0.02


def agree(figure, ours, theirs):
    if theirs is None:
        return True
    if figure != "rtt_ms" or ours is None:
        return ours == theirs
    return abs(ours - theirs) <= max(NEAR_MS, NEAR_SHARE * ours)


def cell(figure, ours, others):
    if all(agree(figure, ours[figure], other[figure]) for other in others):
        return written(ours[figure])
    return " / ".join(written(one[figure]) for one in (ours, *others))


def written(value):
    return "–" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)


def row(name, ours, others, unexplained):
    rules = []
    for figure in COLUMNS:
        for tool, other in zip(("tcptrace", "tshark"), others):
            if not agree(figure, ours[figure], other[figure]):
                rule = RULES.get(name, {}).get(figure)
                if not rule:
                    unexplained.append(f"{name}, {figure}: {ours[figure]}, {tool}: {other[figure]}")
                elif rule not in rules:
                    rules.append(rule)
    if all(value is None for value in others[0].values()):
        rules.append("formats")
    cells = [cell(figure, ours, others) for figure in COLUMNS]
    return f"| {name.replace('_', ' ')} | {' | '.join(cells)} | {', '.join(rules)} |"


def main(program):
    unexplained = []
    print(f"| capture | {' | '.join(COLUMNS.values())} | rules |")
    print("|---" * (len(COLUMNS) + 2) + "|")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "capture"
        for kind in kinds.NAMES:
            for function in kinds.functions(kind):
                tape = kinds.made(function)
                path.write_bytes(tape.bytes())
                print(row(function.__name__, peers.ours(check.analysed(program, tape)),
                          (peers.tcptrace(path), peers.tshark(path)), unexplained))
    for difference in unexplained:
        print(f"compare.py: no rule for {difference}", file=sys.stderr)
    return 1 if unexplained else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
