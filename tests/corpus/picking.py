"""Which plays of a sweep are stored: few that cover most kinds of faults and shapes of jobs."""

import collections
import fnmatch

import recordings
import store


def candidates(folder, only, stored):
    """Plays that are cases, by name; those of the same name are one."""
    cases, _ = recordings.below(folder)
    known = {play.name for play in stored}
    return {case.name: case for case in reversed(cases)
            if case.name not in known and fnmatch.fnmatch(case.name, only)
            and not case.why_no_scenario()}


def stratum(case):
    return store.kind_of(case), store.shape_of(case)


def picked(folder, only, stored, most):
    """One after the other, always of the kind and shape that the corpus has fewest of."""
    left = candidates(folder, only, stored)
    taken = [(play.kind, play.shape) for play in stored]
    chosen = []
    while left and len(chosen) < most:
        pairs = collections.Counter(taken)
        kinds = collections.Counter(kind for kind, _ in taken)
        shapes = collections.Counter(shape for _, shape in taken)

        def fewest(name):
            kind, shape = stratum(left[name])
            return pairs[kind, shape], kinds[kind], shapes[shape], name

        case = left.pop(min(left, key=fewest))
        taken.append(stratum(case))
        chosen.append(case)
    return chosen
