"""Slurm on a cluster of the lab: Debian's own slurmctld on head, a slurmd on each host, and munged.

    slurm = Slurm(Cluster(lab, 3))
    slurm.start()
    slurm.run(["srun", "-N", "3", "hostname"])

Everything is root's, and nothing of it is the machine's: sockets, keys, state and logs lie in the
lab's folder. Hosts share the machine's files, so that one munged is enough.
"""

import pathlib
import secrets
import shutil

import cgroups
from checks import soon
from kernel import Failed, Skipped

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "slurm"
CONTROLLER_PORT, NODE_PORT = 6817, 6818
READY_SECONDS = 30
DATABASE_PORT, ACCOUNTS_PORT = 3306, 6819
CPUS = 4

# No cgroups, no accounting unless account() asks for it, and nothing waited for that a test has no need of: a job that is queued
# again waits for its credentials to expire, two minutes by default. What the machine has is not what
# the nodes are to have.
CONFIGURATION = """
ClusterName=lab
SlurmctldHost=head({head})
SlurmUser={user}
SlurmdUser=root
SlurmctldPort={controller_port}
SlurmdPort={node_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=2
MpiDefault=none
ReturnToService=0
JobRequeue=1
KillWait=2
MessageTimeout=5
FirstJobId=100
NodeName={names} CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=5 State=UP
"""
ACCOUNTS = """
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost=head
DbdAddr={head}
DbdPort={port}
SlurmUser={user}
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database_port}
StorageUser=slurm
StoragePass={password}
"""


class Slurm:
    def __init__(self, cluster, user="root"):
        cluster.lab.needs("slurmctld", "slurmd", "munged", "srun", "sbatch", "scontrol")
        self.lab, self.cluster, self.head = cluster.lab, cluster, cluster.head
        self.folder, self.user, self.is_accounting = cluster.lab.folder / "slurm", user, False
        (self.folder / "state").mkdir(parents=True)
        for host in cluster.hosts:
            (self.folder / "spool" / host.name).mkdir(parents=True)
        # Nothing is asked of cgroups, but without a version slurmd goes looking for one.
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        self.configuration = self.folder / "slurm.conf"
        self.configuration.write_text(CONFIGURATION.format(
            head=cluster.address("head"), folder=self.folder, names=",".join(cluster.names),
            user=user, controller_port=CONTROLLER_PORT, node_port=NODE_PORT, cpus=CPUS))
        if user != "root":
            cluster.lab.folder.chmod(0o755)
            for path in (self.folder, self.folder / "state"):
                shutil.chown(path, user)
        for host in [self.head, *cluster.hosts]:
            host.environment["SLURM_CONF"] = str(self.configuration)

    def track(self, kind):
        """How slurmd finds the processes of a step: linuxproc, pgid or cgroup. Before the start."""
        text = self.configuration.read_text()
        self.configuration.write_text(text.replace("proctrack/linuxproc", f"proctrack/{kind}"))
        if kind == "cgroup":
            if cgroups.first_version("freezer") is None:
                raise Skipped("needs control groups of version 1")
            place = self.folder / "cgroup"
            place.mkdir()
            # A host of the lab has a /sys of its own, without control groups.
            (self.folder / "cgroup.conf").write_text(
                f"CgroupPlugin=cgroup/v1\nCgroupAutomount=yes\nCgroupMountpoint={place}\n")

    def account(self):
        """Has slurmdbd and a MariaDB of its own keep what becomes of jobs, for sacct. Before the
        start."""
        self.lab.needs("slurmdbd", "mariadbd", "mariadb-install-db", "sacct", "sacctmgr")
        self.is_accounting = True
        self.configure("AccountingStorageType=accounting_storage/slurmdbd",
                       f"AccountingStorageHost={self.cluster.address('head')}",
                       f"AccountingStoragePort={ACCOUNTS_PORT}",
                       f"AccountingStoragePass={self.folder}/munge.socket")
        return self

    def start_accounts(self):
        data, password = self.folder / "database", secrets.token_hex(16)
        self.run(["mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={data}",
                  "--skip-test-db", "--auth-root-authentication-method=normal"])
        granted = self.folder / "granted.sql"
        granted.write_text(f"CREATE USER slurm@'127.0.0.1' IDENTIFIED BY '{password}';\n"
                           "GRANT ALL ON slurm_acct_db.* TO slurm@'127.0.0.1';\n")
        self.head.serve(
            ["mariadbd", "--no-defaults", "--user=root", f"--datadir={data}", "--skip-name-resolve",
             f"--socket={self.folder}/database.socket", f"--pid-file={self.folder}/database.pid",
             f"--init-file={granted}", "--bind-address=127.0.0.1", f"--port={DATABASE_PORT}",
             "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=16M",
             "--innodb-flush-log-at-trx-commit=0"], DATABASE_PORT)
        configuration = self.folder / "slurmdbd.conf"
        configuration.touch(mode=0o600)
        configuration.write_text(ACCOUNTS.format(
            folder=self.folder, head=self.cluster.address("head"), user=self.user,
            port=ACCOUNTS_PORT, database_port=DATABASE_PORT, password=password))
        self.head.serve(["slurmdbd", "-D"], ACCOUNTS_PORT)
        self.run(["sacctmgr", "-i", "add", "cluster", "lab"])

    def configure(self, *lines):
        """Further lines of slurm.conf, before the start."""
        with open(self.configuration, "a", encoding="ascii") as file:
            file.writelines(f"{line}\n" for line in lines)

    def script(self, name, settings=(), keeps_errors=False):
        """One of scripts/slurm as slurm.conf names it: with settings of its own, lines of bash.
        What slurmctld starts has no standard error that anybody sees: on demand told_by() has it."""
        file = self.folder / "settings"
        file.write_text("".join(f"{line}\n" for line in [
            f"export SLURM_CONF={self.configuration}", f"PATH={':'.join(self.lab.programs)}:$PATH",
            *settings]))
        errors = f"2>>{self.told_by(name)}" if keeps_errors else ""
        wrapper = self.folder / name
        wrapper.write_text(f'#!/bin/sh\nexport CHOKEPOINT_SLURM={file}\n'
                           f'exec {SCRIPTS / name} "$@" {errors}\n')
        wrapper.chmod(0o755)
        return wrapper

    def told_by(self, name):
        """Where a script's standard error goes."""
        return self.folder / f"{name}.told"

    def start(self):
        self.start_munge()
        if self.is_accounting:
            self.start_accounts()
        self.controller = self.head.serve(["slurmctld", "-D"], CONTROLLER_PORT)
        self.nodes = {host.name: host.serve(["slurmd", "-D"], NODE_PORT)
                      for host in self.cluster.hosts}
        for name in self.nodes:
            soon(lambda: self.state(name).startswith("IDLE"), READY_SECONDS, f"{name} idle")
        return self

    def start_munge(self):
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        socket = self.folder / "munge.socket"
        munged = self.head.start(
            ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={socket}",
             f"--pid-file={self.folder}/munge.pid", f"--log-file={self.folder}/munge.log",
             f"--seed-file={self.folder}/munge.seed"])
        munged.until(socket.exists, READY_SECONDS, "socket of munged")

    def run(self, words, timeout=60, **how):
        """What a user runs on the controller's host."""
        return self.head.run(words, timeout, **how)

    def node(self, name):
        """What the controller knows of a node: 'scontrol show node', as a dictionary."""
        told = self.run(["scontrol", "--oneliner", "show", "node", name]).stdout()
        return fields_of(told)

    def state(self, name):
        return self.node(name)["State"]

    def reason(self, name):
        return self.node(name).get("Reason", "")

    def job(self, number):
        return fields_of(self.run(["scontrol", "--oneliner", "show", "job", number]).stdout())

    def submit(self, words, folder, held=False):
        """sbatch in this folder; the job's number."""
        hold = ["--hold"] if held else []
        told = self.run(["sbatch", "--parsable", "--chdir", folder, *hold, *words]).stdout()
        return int(told.strip().split(";")[0])

    def release(self, number):
        """Lets a held job start."""
        self.run(["scontrol", "release", number])

    def await_job(self, number, state="COMPLETED", seconds=60):
        end = ("COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL", "TIMEOUT")
        soon(lambda: self.job(number)["JobState"] in end, seconds, f"end of job {number}")
        found = self.job(number)
        if found["JobState"] != state:
            raise Failed(f"job {number} is {found['JobState']}: {found}")
        return found

    def log(self, name):
        return (self.folder / f"{name}.log").read_text()


def fields_of(line):
    """'Name=value …': a value ends where the next name begins."""
    fields, name = {}, None
    for word in line.split():
        head, equals, rest = word.partition("=")
        if equals and head[:1].isupper() and head.replace("_", "").replace(":", "").isalnum():
            name = head
            fields[name] = rest
        elif name:
            fields[name] += f" {word}"
    return fields
