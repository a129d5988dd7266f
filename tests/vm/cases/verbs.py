"""The library over a real device; a host without one runs most of these tests over a fake one, and
skips the rest."""

import os

from checks import holds, same


def live_tests(machines):
    """They lie in the same build as the program under test."""
    build = os.path.dirname(os.path.realpath(machines.folder / "bin" / "chokepoint"))
    return f"{build}/tests/rdma/verbs/rdma_verbs_live_tests"


def resources(machine):
    return machine.output(["rdma", "resource", "show"])


def test_all_that_needs_a_device_holds_on_one(machines, alone):
    told = alone.output([live_tests(machines)], timeout=120)
    holds("[  PASSED  ]" in told, told)
    holds("SKIPPED" not in told, told)


def test_a_user_who_is_nobody_in_particular_can_do_the_same(machines, alone):
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    told = alone.output([*user, live_tests(machines)], timeout=120)
    holds("SKIPPED" not in told, told)


def test_of_a_process_that_is_killed_nothing_is_left(machines, alone):
    before = resources(alone)
    endless = alone.start([live_tests(machines), "--gtest_repeat=-1",
                           "--gtest_filter=LiveOperations.*:LiveCm.*"])
    endless.until(lambda: "qp 2" in resources(alone) or "qp 3" in resources(alone), 30,
                  "a queue pair")
    endless.stop("KILL")
    same(resources(alone), before, "resources")
