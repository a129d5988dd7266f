"""`chokepoint preflight` of clusters with one fault each: it is found by name, nobody else is
accused, what the others reach is measured all the same, and it takes no longer than it says."""

import random
import time

import cluster_faults
import planted
import preflights
from checks import holds, same
from cluster import Cluster


def is_right(lab, kind, hosts=4, victim="host3", midway_s=4, **how):
    one = planted.KINDS[kind]
    cluster = Cluster(lab, hosts, **one.topology).serve()
    with planted.Draw(cluster, random.Random(kind), victim) as draw:
        if one.is_midway:
            truth = []
            told = preflights.run(cluster, "--quick", **how, after=midway_s,
                                  midway=lambda: truth.append(one.plant(draw)))
            truth = truth[0]
        else:
            truth = one.plant(draw)
            told = preflights.run(cluster, "--quick", **how)
    wrong = list(preflights.complaints(told, truth, cluster))
    holds(not wrong, "\n".join([*wrong, told.text()]))
    return told


def test_four_hosts_that_are_well_have_no_finding(lab):
    is_right(lab, "none", as_delivered=True)


def test_eight_hosts_that_are_well_have_no_finding(lab):
    is_right(lab, "none", hosts=8, knows_rates=True)


def test_hosts_that_are_well_on_both_ends_of_15_ms_have_no_finding(lab):
    is_right(lab, "none-15ms")


def test_a_host_that_sends_slowly_is_found(lab):
    is_right(lab, "slow-sending")


def test_a_host_that_receives_slowly_is_found_among_eight(lab):
    is_right(lab, "slow-receiving", hosts=8, knows_rates=True)


def test_a_cable_that_loses_is_found(lab):
    is_right(lab, "loss")


def test_a_small_mtu_among_larger_ones_is_found(lab):
    is_right(lab, "small-mtu")


def test_a_switch_port_that_drops_large_packets_is_found(lab):
    is_right(lab, "black-hole")


def test_a_host_whose_own_name_is_loopback_is_found(lab):
    is_right(lab, "own-name")


def test_a_host_to_whom_another_s_name_is_loopback_is_found(lab):
    is_right(lab, "name-elsewhere")


def test_a_host_with_small_buffers_on_15_ms_is_found(lab):
    is_right(lab, "small-buffers")


def measure_a_narrow_uplink_between_two_groups_is_found(lab):
    is_right(lab, "narrow-uplink", hosts=8, knows_rates=True)


def test_a_host_that_is_down_is_found(lab):
    is_right(lab, "down")


def test_a_host_whose_agent_dies_in_the_midst_is_found(lab):
    is_right(lab, "dies")


def test_a_host_that_is_cut_off_in_the_midst_is_found(lab):
    is_right(lab, "gone")


def test_a_host_with_another_version_is_found(lab):
    is_right(lab, "other-version")


def test_a_host_with_another_key_is_found(lab):
    is_right(lab, "wrong-key")


def test_strangers_on_the_agents_port_are_found_and_harm_nobody(lab):
    """All kinds of them at once, among hosts that are well."""
    cluster = Cluster(lab, 8).serve()
    strange = cluster.names[:len(cluster_faults.STRANGERS)]
    for name, kind in zip(strange, cluster_faults.STRANGERS):
        cluster_faults.stranger(cluster, name, kind)
    told = preflights.run(cluster, "--quick")
    truth = planted.Truth(("host.present",), tuple(strange), lost=tuple(strange))
    wrong = list(preflights.complaints(told, truth, cluster))
    holds(not wrong, "\n".join([*wrong, told.text()]))
    accused = {name for check in told.serious() for name in check["hosts"]}
    same(accused, set(strange), "hosts that are named")


def test_what_was_measured_until_it_is_interrupted_is_told(lab):
    cluster = Cluster(lab, 4).serve()
    began = time.monotonic()
    process = preflights.start(cluster, "--quick")
    time.sleep(5)
    process.signal(2)
    told = preflights.finish(process, began, timeout=10)
    same(told.status, 130, "exit status")
    holds(told.document["interrupted"], "the document does not say so")
    holds(any(way.get("rtt_ms") for way in told.ways().values()), "nothing was measured")
