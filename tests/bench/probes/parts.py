"""What every comparison with other tools does around its parts: reads what was asked for, waits for a
quiet machine before each, and writes the document after each, so that an interrupted run keeps what
it has."""

import json
import os
import pathlib
import time

from bench import say, wait_for_quiet
from lab import Failed, Skipped


def asked_for(parser, parts):
    parser.add_argument("chokepoint")
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(parts))
    found = parser.parse_intermixed_args()
    if unknown := set(found.parts) - set(parts):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    found.chokepoint = os.path.abspath(found.chokepoint)
    return found


def measured(schema, machine, names, measure, out):
    """The document; `measure` is called with the name of each part."""
    document = {"schema": schema, "host": os.uname().nodename,
                "started_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "machine": machine, "others_percent": {}, "parts": {}}
    for name in names:
        try:
            document["others_percent"][name] = wait_for_quiet()
            document["parts"][name] = measure(name)
        except (Failed, Skipped) as reason:
            say(f"{name}: {reason}")
            document.setdefault("without", {})[name] = str(reason)
        pathlib.Path(out).write_text(json.dumps(document, indent=1) + "\n")
    return document
