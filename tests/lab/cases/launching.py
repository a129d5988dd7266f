"""Agents that a preflight starts itself: by real ssh and sshd, and by mpirun."""

import shutil
import signal
import tarfile

from checks import holds, same, soon
from cluster import PORT, Cluster
from sshd import Logins

LEFT_SECONDS = 10


class Launching:
    """A cluster whose hosts run sshd. `with_program`: where a login finds chokepoint."""

    def __init__(self, lab, count, with_program=(), refusing=()):
        self.lab, self.cluster, self.logins = lab, Cluster(lab, count), Logins(lab)
        self.program = shutil.which("chokepoint", path=lab.programs[0])
        for host in self.cluster.hosts:
            path = lab.programs if host.name in with_program else ()
            self.logins.serve(host, path, lets_in=host.name not in refusing)
        self.logins.use(self.cluster.head)

    def tarball(self):
        """As packages are, but for libraries, which this machine has."""
        file = self.lab.folder / "chokepoint.tar.gz"
        with tarfile.open(file, "w:gz") as tar:
            tar.add(self.program, "chokepoint-0/bin/chokepoint", recursive=False,
                    filter=lambda entry: entry)
        return file

    def words(self, *more):
        return ["chokepoint", "preflight", *self.cluster.names, "--quick", "--json", *more]

    def preflight(self, *more, timeout=100):
        done = self.cluster.head.run(self.words(*more), timeout, status=None)
        return done
