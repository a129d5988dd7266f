"""usage: fit, as scripts/fit tells."""

import argparse
import contextlib
import fnmatch
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path += [str(HERE.parent), str(ROOT / "tests" / "bench" / "attribution")]

import building  # noqa: E402
import constants  # noqa: E402
import recordings  # noqa: E402
import report  # noqa: E402
import search  # noqa: E402
import store  # noqa: E402
from rows import Refused  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(prog="fit", usage=argparse.SUPPRESS)
    parser.add_argument("--only", default="*")
    parser.add_argument("--factors", type=factors, default=(0.5, 0.7, 1.4, 2.0))
    parser.add_argument("--plays", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--report", type=pathlib.Path, default=ROOT / "build/bench/fit.md")
    return parser.parse_args()


def factors(text):
    found = tuple(float(word) for word in text.split(","))
    if not found or not all(0 < each < 1e6 for each in found):
        raise ValueError
    return found


def play_of(case):
    """Of a recording that is in no corpus."""
    return store.Play(case.name, store.kind_of(case), store.shape_of(case), case.truth["class"],
                      store.set_of(case), store.NONE, 0, "")


def cases(stack, folders):
    """Those of the corpus, and those of these folders."""
    corpus = store.Corpus(HERE.parent)
    found = [(stack.enter_context(corpus.opened(play)), play) for play in corpus.plays()]
    stored = {play.name for _, play in found}
    for folder in folders:
        found += [(case, play_of(case)) for case in recordings.below(folder)[0]
                  if case.name not in stored]
    return found


def row(effect, by):
    cells = [f"{effect.changed(factor)}, {effect.gain(factor):+d}" for factor in by]
    gained, factor = effect.gain_across_kinds()
    return [effect.constant.file, f"`{effect.constant.name}`", *cells,
            f"x{factor:g}: {gained:+d}" if gained >= search.LEAST_GAIN else report.ABSENT]


def written(file, found, by, count):
    silent = [effect for effect in found if effect.is_without_effect()]
    loud = sorted((effect for effect in found if not effect.is_without_effect()),
                  key=lambda effect: -max(effect.changed(factor) for factor in by))
    head = ["file", "constant", *(f"x{factor:g}" for factor in by), "better for other kinds, too"]
    text = (f"# Constants of attribution, on {count} plays\n\n"
            "Plays that are answered in another way, and points gained: class, place, lost time "
            f"within 15 %; an alarm costs {search.ALARM_COSTS}.\n\n"
            f"{report.table([head, *(row(effect, by) for effect in loud)])}\n\n"
            f"{len(silent)} of {len(found)} change nothing by any factor:\n\n" +
            "\n".join(f"- {effect.constant.key}" for effect in silent) + "\n")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    print(f"{len(loud)} of {len(found)} constants change an answer of {count} plays: {file}")


def main():
    asked = arguments()
    program, kept = building.built(ROOT)
    chosen = [each for each in constants.found_in(ROOT / "analysis", kept)
              if fnmatch.fnmatch(each.key, asked.only)]
    with contextlib.ExitStack() as stack:
        given = cases(stack, asked.plays)
        found = search.effects(program, given, chosen, asked.factors)
        written(asked.report, found, asked.factors, len(given))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Refused, OSError) as reason:
        print(f"fit: {reason}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
