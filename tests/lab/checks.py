"""What tests of the lab say about figures and places; each raises Failed with both sides."""

import time

from kernel import Failed


def holds(condition, what):
    if not condition:
        raise Failed(what)


def same(found, wanted, what):
    holds(found == wanted, f"{what}: {found!r} instead of {wanted!r}")


def near(found, wanted, share, what):
    """Within a share of what is wanted: 0.1 is 10 %."""
    holds(found is not None and abs(found - wanted) <= share * abs(wanted),
          f"{what}: {found} instead of {wanted} (± {share:.1%})")


def between(found, low, high, what):
    holds(found is not None and low <= found <= high, f"{what}: {found} is not in {low} … {high}")


def carried(found, wire, what):
    """What a shaped wire let through: never more than its rate. It may be less, because the
    kernel's shaper runs late on a machine whose processors are busy with other work."""
    between(found, 0.8 * wire, 1.01 * wire, what)


def soon(condition, seconds, what):
    """Waits until it holds. For what happens on its own; how long it took is returned."""
    began = time.monotonic()
    while not condition():
        holds(time.monotonic() < began + seconds, f"{what}: not within {seconds} s")
        time.sleep(0.01)
    return time.monotonic() - began
