"""The HealthCheckProgram: which nodes it drains and resumes, with which reasons."""

from checks import holds, same, soon
from cluster import Cluster
from slurm import Slurm

CHECKED_SECONDS = 30


def started(lab, settings=()):
    """Slurm whose nodes are checked often; host2 takes its own name for a loopback address."""
    cluster = Cluster(lab, 3)
    cluster.set_name("host2", "host2", "127.0.1.1")
    slurm = Slurm(cluster)
    slurm.configure(f"HealthCheckProgram={slurm.script('healthcheck', settings)}",
                    "HealthCheckInterval=2", "HealthCheckNodeState=ANY")
    return slurm


def drained(slurm, name):
    return "DRAIN" in slurm.state(name)


def test_a_node_at_fault_is_drained_and_resumed_once_it_is_mended(lab):
    slurm = started(lab).start()
    soon(lambda: drained(slurm, "host2"), CHECKED_SECONDS, "host2 drained")
    reason = slurm.reason("host2")
    holds(reason.startswith("chokepoint: names.own host2: 127.0.1.1, wanted "), reason)
    same([name for name in slurm.cluster.names if drained(slurm, name)], ["host2"], "drained")
    slurm.cluster.set_name("host2", "host2", slurm.cluster.address("host2"))
    soon(lambda: not drained(slurm, "host2"), CHECKED_SECONDS, "host2 resumed")


def test_what_others_drained_is_left_to_them(lab):
    slurm = started(lab)
    slurm.cluster.set_name("host2", "host2", slurm.cluster.address("host2"))
    slurm.start()
    for name, reason in (("host1", "a fan is loud"), ("host3", "chokepoint: preflight: a cable")):
        slurm.run(["scontrol", "update", f"NodeName={name}", "State=DRAIN", f"Reason={reason}"])
    slurm.cluster.set_name("host1", "host1", "127.0.1.1")
    slurm.cluster.set_name("host2", "host2", "127.0.1.1")
    soon(lambda: drained(slurm, "host2"), CHECKED_SECONDS, "host2 drained")
    for _ in range(2):
        slurm.cluster.named("host1").run([slurm.folder / "healthcheck"])
    holds(slurm.reason("host1").startswith("a fan is loud"), slurm.reason("host1"))
    slurm.cluster.named("host3").run([slurm.folder / "healthcheck"])
    holds(drained(slurm, "host3"), "host3 was resumed")


def test_a_doctor_that_fails_or_hangs_drains_nobody(lab):
    slurm = started(lab)
    slurm.start()
    soon(lambda: drained(slurm, "host2"), CHECKED_SECONDS, "host2 drained")
    for program, said in (("false", "doctor failed"), ("hanging", "longer than 8 s")):
        hanging = slurm.folder / "hanging"
        hanging.write_text("#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 1; done\n")
        hanging.chmod(0o755)
        found = slurm.folder / program if program == "hanging" else program
        script = slurm.script("healthcheck", [f"chokepoint={found}"])
        told = slurm.cluster.named("host1").run([script], timeout=20).stderr()
        holds(said in told and not drained(slurm, "host1"), told)
        holds(drained(slurm, "host2"), "host2 was resumed")
