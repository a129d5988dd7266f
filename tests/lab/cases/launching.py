"""Agents that a preflight starts itself: by real ssh and sshd, and by mpirun over them."""

import pathlib
import shutil
import signal

from checks import holds, same, soon
from cluster import PORT, Cluster
from sshd import Logins

LEFT_SECONDS = 10


class Launching:
    """A cluster whose hosts run sshd, and `chokepoint preflight` on its head."""

    def __init__(self, lab, count, with_program=None, refusing=()):
        """`with_program`: the hosts where a login finds chokepoint; None: all."""
        self.lab, self.cluster, self.logins = lab, Cluster(lab, count), Logins(lab)
        self.program = pathlib.Path(shutil.which("chokepoint", path=lab.programs[0])).resolve()
        for host in self.cluster.hosts:
            has_it = with_program is None or host.name in with_program
            self.logins.serve(host, lab.programs if has_it else (), host.name not in refusing)
        self.logins.use(self.cluster.head)
        self.preflight_ = ["chokepoint", "preflight", *self.cluster.names, "--quick", "--json"]

    def start(self, *more):
        return self.cluster.head.start([*self.preflight_, *more])

    def run(self, *more):
        """Its document."""
        done = self.cluster.head.run([*self.preflight_, *more], timeout=100, status=None)
        holds(done.popen.returncode in (0, 3), done.told())
        return done.document()

    def is_served(self):
        return all(host.listens(PORT) for host in self.cluster.hosts)

    def is_left_alone(self):
        self.logins.await_quiet(self.cluster.hosts, LEFT_SECONDS)


def absent(told):
    """Why hosts did not take part, by name."""
    return {check["subject"]: check["why"] for check in told["checks"]
            if check["id"] == "host.present" and check["status"] == "CRITICAL"}


def test_ssh_starts_agents_and_leaves_none(lab):
    launching = Launching(lab, 3)
    told = launching.run("--launch", "ssh")
    same(absent(told), {}, "absent")
    same(len(told["pairs"]["a"]), 3, "pairs")
    launching.is_left_alone()


def test_a_host_without_chokepoint_is_given_a_copy_and_keeps_it(lab):
    launching = Launching(lab, 2, with_program=["host1"])
    words = ("--launch", "ssh", "--copy", launching.program)
    same(absent(launching.run(*words)), {}, "absent")
    copies = list((launching.logins.cache(launching.cluster.hosts[1])
                   / "chokepoint" / "agents").iterdir())
    same(len(copies), 1, f"copies {copies}")
    made = copies[0].stat().st_ino
    same(absent(launching.run(*words)), {}, "absent")
    same([copy.stat().st_ino for copy in copies[0].parent.iterdir()], [made], "copies afterwards")
    holds(not launching.logins.cache(launching.cluster.hosts[0]).exists(), "host1 got a copy, too")


def test_a_host_that_refuses_is_told_by_name_and_not_waited_for(lab):
    launching = Launching(lab, 3, refusing=["host3"])
    told = launching.run("--launch", "ssh")
    same(list(absent(told)), ["host3"], "absent")
    why = absent(told)["host3"]
    holds("Permission denied" in why and "ssh-copy-id host3" in why, why)
    holds(told["duration_s"] < 45, f"it took {told['duration_s']} s")
    same(len(told["pairs"]["a"]), 1, "pairs")


def test_ctrl_c_leaves_nothing_on_any_host(lab):
    launching = Launching(lab, 3)
    preflight = launching.start("--launch", "ssh")
    preflight.until(launching.is_served, 30, "agents")
    preflight.signal(signal.SIGINT)
    same(preflight.wait(30), 130, "exit status")
    launching.is_left_alone()
    same(set(launching.cluster.head.pids()), set(), "processes on head")


def test_a_preflight_that_is_killed_leaves_nothing_on_any_host(lab):
    launching = Launching(lab, 3)
    preflight = launching.start("--launch", "ssh")
    preflight.until(launching.is_served, 30, "agents")
    preflight.signal(signal.SIGKILL)
    launching.is_left_alone()
    soon(lambda: not launching.cluster.head.pids(), LEFT_SECONDS, "no processes on head")


def test_mpirun_starts_agents_and_leaves_none(lab):
    lab.needs("mpirun", "orted")
    launching = Launching(lab, 3, refusing=["host3"])
    told = launching.run("--launch", "mpirun")
    same(list(absent(told)), ["host3"], "absent")
    holds("Permission denied" in absent(told)["host3"], absent(told)["host3"])
    launching.is_left_alone()
