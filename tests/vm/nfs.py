"""A real NFS, version 4: a machine's kernel serves a folder of its memory, another one mounts it."""

import contextlib
import shutil

from kernel import Skipped

SERVER = """
set -e
modprobe nfsd
mount -t nfsd nfsd /proc/fs/nfsd
mkdir -p {folder} /var/lib/nfs/v4recovery
mount -t tmpfs tmpfs {folder}
touch /var/lib/nfs/etab /var/lib/nfs/rmtab
exportfs -i -o rw,no_root_squash,no_subtree_check,insecure,fsid=0 '*:{folder}'
rpc.mountd -N 3
rpc.nfsd -N 3 4
echo Y >/proc/fs/nfsd/v4_end_grace
"""


def serve(machine, folder):
    """An empty folder for other machines."""
    if not shutil.which("rpc.nfsd", path="/usr/sbin:/sbin:/usr/bin"):
        raise Skipped("needs rpc.nfsd (package nfs-kernel-server)")
    machine.run(["sh", "-c", SERVER.format(folder=folder)])


@contextlib.contextmanager
def mounted(machine, server, point):
    machine.run(["mkdir", "-p", point])
    machine.run(["modprobe", "nfsv4"])
    machine.run(["mount", "-t", "nfs4", "-o", "vers=4.2", f"{server.ipv4}:/", point])
    try:
        yield
    finally:
        machine.run(["umount", "-l", point])
