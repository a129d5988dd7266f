"""Records brought together from hosts by real ssh: `chokepoint collect`."""

import signal

from checks import holds, same, soon
from cluster import Cluster
from sshd import Logins


class Collecting:
    """Hosts with a run each in a folder of their own, and who collects them, the first host."""

    def __init__(self, lab, count, refusing=()):
        self.lab, self.cluster, self.logins = lab, Cluster(lab, count), Logins(lab)
        for host in self.cluster.hosts:
            self.logins.serve(host, lab.programs, host.name not in refusing)
        self.logins.use(self.cluster.head)

    def folder(self, host):
        return self.lab.folder / f"on-{host.name}"

    def sources(self):
        return [f"{host.name}:{self.folder(host)}" for host in self.cluster.hosts]

    def record(self, host, *command, node=None):
        return host.start(["chokepoint", "run", "-q", "--out", self.folder(host),
                           "--node", node or host.name, "--", *command])

    def collect(self, *words, status=0):
        done = self.cluster.head.run(
            ["chokepoint", "collect", *words, "--out", self.lab.folder / "all", "--json"],
            timeout=60, status=None)
        same(done.popen.returncode, status, done.told())
        return done.document()


def test_records_come_from_all_hosts(lab):
    there = Collecting(lab, 3)
    for host in there.cluster.hosts:
        there.record(host, "true").wait(30)
    told = there.collect(*there.sources())
    same([each["file"] for each in told["records"]],
         sorted(f"{host.name}.db" for host in there.cluster.hosts), "records")
    again = there.collect(*there.sources())
    same({each["sent_bytes"] for each in again["records"]}, {0}, "bytes sent again")
    nodes = there.cluster.head.json(["chokepoint", "record", "show", lab.folder / "all", "--json"])
    same(len(nodes["nodes"]), 3, "nodes")


def test_a_host_that_refuses_fails_alone(lab):
    there = Collecting(lab, 2, refusing=("host2",))
    for host in there.cluster.hosts:
        there.record(host, "true").wait(30)
    told = there.collect(*there.sources(), status=1)
    same([each["file"] for each in told["records"]], ["host1.db"], "records")
    holds("host2" in told["troubles"][0] and "Permission denied" in told["troubles"][0],
          told["troubles"])


def test_a_run_that_goes_on_is_collected_again(lab):
    there = Collecting(lab, 1)
    host = there.cluster.hosts[0]
    run = there.record(host, "sh", "-c", "for i in $(seq 100); do echo step $i; sleep 0.1; done")
    soon(lambda: list(there.folder(host).glob("*.db")), 10, "a record")
    told = there.collect(*there.sources())
    holds(told["records"][0]["live"], told)
    shown = host.json(["chokepoint", "record", "show", lab.folder / "all", "--json"])
    holds(shown["nodes"][0]["exit_status"] is None, "it goes on")
    run.wait(30)
    told = there.collect(*there.sources())
    same(len(told["records"]), 1, "records")
    holds(not told["records"][0]["live"], told)
    shown = host.json(["chokepoint", "record", "show", lab.folder / "all", "--json"])
    same(shown["nodes"][0]["exit_status"], 0, "exit status")


def test_nothing_is_left_of_a_collect_that_is_interrupted(lab):
    there = Collecting(lab, 2)
    for host in there.cluster.hosts:
        there.record(host, "true").wait(30)
    slow = there.cluster.head.start(
        ["chokepoint", "collect", "--ssh", "sleep 60; ssh", *there.sources(), "--out",
         lab.folder / "all"])
    soon(lambda: (lab.folder / "all").exists(), 10, "a folder")
    slow.signal(signal.SIGINT)
    slow.wait(10)
    there.logins.await_quiet(there.cluster.hosts, 10)
    same(len(there.collect(*there.sources())["records"]), 2, "records")
