"""Logins between hosts of a lab: Debian's sshd on some of them, and an `ssh` on others that has a key
to them and asks nobody. Nothing of the user's own ~/.ssh is read or written.

    logins = Logins(lab)
    logins.serve(host1, path=["/opt/chokepoint/bin"])
    logins.use(head)
    head.run(["ssh", "host1", "hostname"])
"""

import shutil

from checks import soon
from kernel import Failed, Skipped, search_path

PORT = 22
START_SECONDS = 20
LOGIN_PATH = ("/usr/bin", "/bin")

SERVER = """
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {keys}
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
SetEnv PATH={path} XDG_CACHE_HOME={cache}
"""
CLIENT = """
IdentityFile {folder}/key
IdentitiesOnly yes
UserKnownHostsFile {folder}/known_hosts
StrictHostKeyChecking yes
"""


class Logins:
    def __init__(self, lab):
        lab.needs("ssh", "ssh-keygen")
        self.sshd = shutil.which("sshd", path=":".join(search_path()))
        if not self.sshd:
            raise Skipped("needs sshd (package openssh-server)")
        self.folder = lab.folder / "ssh"
        self.folder.mkdir()
        self.servers = {}
        self.keys = None

    def prepare(self, host):
        for name in ("key", "host_key", "another_key"):
            host.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name])
        kind, key = (self.folder / "host_key.pub").read_text().split()[:2]
        (self.folder / "known_hosts").write_text(f"* {kind} {key}\n")
        self.keys = self.folder / "key.pub"

    def cache(self, host):
        """Where a login on this host keeps what can be made anew."""
        return self.folder / f"cache-{host.name}"

    def serve(self, host, path=(), lets_in=True):
        """`path`: folders in which a login there finds programs first."""
        if not self.keys:
            self.prepare(host)
        settings = self.folder / f"sshd-{host.name}"
        settings.write_text(SERVER.format(
            port=PORT, folder=self.folder, path=":".join([*map(str, path), *LOGIN_PATH]),
            keys=self.keys if lets_in else self.folder / "another_key.pub", cache=self.cache(host)))
        host.run(["mkdir", "-p", "/run/sshd"])
        self.servers[host.name] = host.serve([self.sshd, "-D", "-e", "-f", settings], PORT,
                                             timeout=START_SECONDS)

    def use(self, host):
        """`ssh` on this host is the system's, with these keys."""
        wrapper = self.folder / "bin" / "ssh"
        wrapper.parent.mkdir(exist_ok=True)
        (self.folder / "config").write_text(CLIENT.format(folder=self.folder))
        real = shutil.which("ssh", path=":".join(search_path()))
        wrapper.write_text(f'#!/bin/sh\nexec {real} -F {self.folder}/config "$@"\n')
        wrapper.chmod(0o755)
        host.environment["PATH"] = f"{wrapper.parent}:{host.environment['PATH']}"

    def others_on(self, host):
        """The processes of a host that are not sshd's own."""
        return set(host.pids()) - {self.servers[host.name].pid}

    def await_quiet(self, hosts, seconds):
        """Until nothing but sshd runs on these hosts. How long it took."""
        def told(host):
            return [words_of(pid) for pid in self.others_on(host)]
        try:
            return soon(lambda: not any(self.others_on(host) for host in hosts), seconds, "quiet")
        except Failed as failure:
            left = {host.name: told(host) for host in hosts}
            raise Failed(f"{failure}; there is {left}") from None


def words_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return "gone"
