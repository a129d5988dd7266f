#!/usr/bin/env python3
"""usage: play.py CHOKEPOINT FILE

Plays one scenario as a test. Exit codes: 0 it went as the truth says, 1 it did not, 77 skipped.
"""

import pathlib
import subprocess
import sys
import tempfile

import played_checks
import scenario
from checks import holds, same
from lab import Failed, Skipped
from run import SKIPPED, with_lab
from scenario_command import told
from training import Player

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "reference"))

import schemas  # noqa: E402

# No path is wide-area, any is, and what is by default.
JUDGING = (["--wan-rtt-ms", "10000"], ["--wan-rtt-ms", "0.000001"], [])


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=30).stdout


def printed(*words):
    """The document, which is what its schema says."""
    try:
        return schemas.document_in(output(*words))
    except ValueError as error:
        raise Failed(f"{' '.join(map(str, words))}: {error}") from None


def diagnosed(program, records, judging=()):
    """The verdict."""
    return printed(program, "diagnose", records, "--json", *judging)["verdict"]


def diagnosed_by_all(program, records):
    """The verdict by default; the commands that say one agree on its class, however it is judged."""
    for judging in JUDGING:
        told = diagnosed(program, records, judging)
        verdict = told["class"]
        compared = printed(program, "compare", records, "--json", *judging)
        same(compared["runs"][0]["verdict"]["class"], verdict, f"compare {judging}")
        exported = output(program, "export", records, "--to", "prometheus", *judging)
        holds(f'class="{verdict}"' in exported, f"export {judging} does not say {verdict}")
    return told


def carries(verdict, evidence):
    """Whether all of these texts are in its evidence."""
    whats = "\n".join(each["what"] for each in verdict["evidence"])
    lacking = [text for text in evidence if text not in whats]
    if lacking:
        print(f"no evidence of {lacking} in:\n{whats}")
    return not lacking


def play(program, path):
    """Whether the verdict is what the scenario expects."""
    one = scenario.read(path)
    verdicts = []

    def test(lab):
        with tempfile.TemporaryDirectory(prefix="scenario-") as folder:
            result = Player(lab, one, pathlib.Path(folder), is_watched=True).play()
            print(told(one, result))
            played_checks.all_of(one, result)
            verdicts.append(diagnosed_by_all(program, result.records))

    with_lab(program, test)
    wanted = one.expected.verdict or [one.truth["class"]]
    print(f"verdict: {verdicts[0]['class']}, wanted: {' or '.join(wanted)}")
    return verdicts[0]["class"] in wanted and carries(verdicts[0], one.expected.evidence)


def main(program, path):
    try:
        # What else the machine does may hold a job back, too, and then the verdict is right to say
        # so; hardly twice.
        if not (play(program, path) or play(program, path)):
            raise Failed("the verdict was wrong twice")
    except Skipped as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    except Failed as failure:
        print(failure)
        return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
