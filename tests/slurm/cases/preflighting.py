"""Preflights of Slurm's: from within an allocation, and as its prolog."""

import json
import os
import signal

import cluster_faults
from checks import holds, same, soon
from cluster import PORT, Cluster
from slurm import Slurm

QUIET_SECONDS = 15


def test_within_a_job_agents_are_started_by_srun_on_its_nodes(lab):
    cluster = Cluster(lab, 3)
    slurm = Slurm(cluster).start()
    done = slurm.run(["salloc", "--quiet", "--nodes=3", "chokepoint", "preflight", "--quick",
                      "--json", "--launch", "slurm"], timeout=100, status=None)
    holds(done.popen.returncode in (0, 3), done.told())
    told = json.loads(done.stdout())
    same([host["name"] for host in told["hosts"]], cluster.names, "hosts")
    same([host["presence"] for host in told["hosts"]], ["present"] * 3, "presence")
    same(len(told["pairs"]["a"]), 3, "pairs")
    soon(lambda: not any(host.listens(PORT) for host in cluster.hosts), QUIET_SECONDS, "no agent")


def test_a_node_outside_the_job_is_told_by_name(lab):
    slurm = Slurm(Cluster(lab, 3)).start()
    done = slurm.run(["salloc", "--quiet", "--nodelist=host1,host2", "chokepoint", "preflight",
                      "--quick", "--json", "--launch", "slurm", "host[1-3]"], timeout=100,
                     status=None)
    hosts = {host["name"]: host for host in json.loads(done.stdout())["hosts"]}
    same([hosts[name]["presence"] == "present" for name in ("host1", "host2", "host3")],
         [True, True, False], "presence")
    error = hosts["host3"]["error"]
    same((error["operation"], error["subject"]), ("srun", "host3"), f"{error}")
    holds("Unable to create step" in error["reason"], error)


def test_a_preflight_that_is_killed_leaves_no_agent(lab):
    cluster = Cluster(lab, 3)
    slurm = Slurm(cluster).start()
    job = slurm.head.start(["salloc", "--quiet", "--nodes=3", "sh", "-c",
                            "chokepoint preflight --launch slurm & echo $! >$0; wait",
                            slurm.folder / "pid"])
    job.until(lambda: all(host.listens(PORT) for host in cluster.hosts), 30, "agents")
    os.kill(int((slurm.folder / "pid").read_text()), signal.SIGKILL)
    soon(lambda: not any(host.listens(PORT) for host in cluster.hosts), QUIET_SECONDS, "no agent")


def with_prolog(lab, count):
    cluster = Cluster(lab, count).serve()
    slurm = Slurm(cluster)
    script = slurm.script("prolog", [f"preflight=(--key-file {cluster.key})"])
    slurm.configure(f"PrologSlurmctld={script}")
    return slurm


def submitted(slurm):
    folder = slurm.folder / "job"
    folder.mkdir()
    return slurm.submit(["--nodes=3", "--requeue", "--wrap", "srun hostname >hosts"], folder)


def test_a_node_with_a_bad_cable_is_drained_and_the_job_runs_on_others(lab):
    slurm = with_prolog(lab, 4)
    cluster_faults.loss(slurm.cluster, "host2", share=0.05)
    slurm.start()
    number = submitted(slurm)
    slurm.await_job(number, seconds=100)
    holds("DRAIN" in slurm.state("host2"), slurm.state("host2"))
    reason = slurm.reason("host2")
    holds(reason.startswith("chokepoint: preflight: ") and "host2" in reason, reason)
    same([name for name in slurm.cluster.names if "DRAIN" in slurm.state(name)], ["host2"],
         "drained")
    ran = (slurm.folder / "job" / "hosts").read_text().split()
    same(sorted(ran), ["host1", "host3", "host4"], "where it ran")


def test_nodes_that_are_well_begin_the_job(lab):
    slurm = with_prolog(lab, 3).start()
    slurm.await_job(submitted(slurm), seconds=100)
    same([name for name in slurm.cluster.names if "DRAIN" in slurm.state(name)], [], "drained")


def test_without_agents_the_job_begins_and_nobody_is_drained(lab):
    cluster = Cluster(lab, 3)
    slurm = Slurm(cluster)
    script = slurm.script("prolog", [f"preflight=(--key-file {cluster.key})"])
    slurm.configure(f"PrologSlurmctld={script}")
    slurm.start()
    slurm.await_job(submitted(slurm), seconds=100)
    same([name for name in cluster.names if "DRAIN" in slurm.state(name)], [], "drained")


def test_a_node_that_slurm_lost_is_told_by_name(lab):
    slurm = Slurm(Cluster(lab, 3)).start()
    slurm.nodes["host3"].kill()
    done = slurm.run(["salloc", "--quiet", "--nodes=3", "chokepoint", "preflight", "--quick",
                      "--json", "--launch", "slurm"], timeout=100, status=None)
    hosts = {host["name"]: host for host in json.loads(done.stdout())["hosts"]}
    same([hosts[name]["presence"] for name in slurm.cluster.names],
         ["present", "present", "unreachable"], "presence")
    holds("failed on node host3" in hosts["host3"]["error"]["reason"], hosts["host3"]["error"])
