"""Every scenario of the sweep: the files of tests/lab/scenarios, and each of their faults at other
strengths, under other jobs, beside a lesser fault; and jobs that nothing holds back.

A name never changes its meaning: by it a scenario belongs to one half or the other.
"""

import scenario
from strengths import (changes, healthy, host_faults, lan, mixes, paths, queues, ranks,
                       stragglers, wrong_paths)

LISTS = (lan.ALL, host_faults.ALL, stragglers.ALL, paths.ALL, wrong_paths.ALL, mixes.ALL,
         ranks.ALL, queues.ALL, healthy.ALL)


def every(seed):
    """[(name of its base, scenario)]; another seed than 0 varies the strengths a little."""
    files = {path.stem: path for path in scenario.all_files()}
    found = [(name, scenario.made(name, changes.of_file(path))) for name, path in files.items()]
    for named in LISTS:
        for name, (base, changed) in named.items():
            if name in files:
                raise ValueError(f"{name} is a file already")
            document = changes.applied(changes.of_file(files[base]), changed)
            found.append((base, scenario.made(name, changes.varied(document, seed, name))))
    return found
