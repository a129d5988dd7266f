"""Slurm itself on the lab's hosts."""
from checks import same
from cluster import Cluster
from slurm import Slurm


def test_every_node_runs_a_task(lab):
    slurm = Slurm(Cluster(lab, 3)).start()
    told = slurm.run(["srun", "-N", "3", "--ntasks-per-node=1", "cat", "/proc/sys/kernel/hostname"])
    same(sorted(told.stdout().split()), ["host1", "host2", "host3"], "hosts")
