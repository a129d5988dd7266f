"""The other end of marks: a socket as `chokepoint run` has it, and what arrived there."""
import os
import re
import socket
import struct
import tempfile
import time

MARK = re.compile(r"(?P<name>\S+)(?: (?P<number>\d+))?(?: samples=(?P<samples>\d+))?"
                  r"(?: rank=(?P<rank>\d+))? t=(?P<t>\d+)")


class Listener:
    """A context: CHOKEPOINT_MARKS names its socket meanwhile."""

    def __init__(self, path=None, by_name=False):
        """`by_name`: the path leads nowhere, as in a chroot, and the socket has its name alone."""
        self.by_name = by_name
        self.folder = tempfile.TemporaryDirectory()
        self.path = path or os.path.join(self.folder.name, "marks")

    def __enter__(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.socket.bind("\0" + self.path if self.by_name else self.path)
        self.socket.listen(128)
        self.connections = []
        os.environ["CHOKEPOINT_MARKS"] = self.path
        return self

    def __exit__(self, *_):
        os.environ.pop("CHOKEPOINT_MARKS", None)
        self.close()
        self.folder.cleanup()

    def close(self):
        for each in (*self.connections, self.socket):
            each.close()

    def _read(self, connection):
        """Pairs of the sender's process id and the mark's text; closed where it is over."""
        try:
            while True:
                text, control, _, _ = connection.recvmsg(512, 256)
                if not text:
                    self.connections.remove(connection)
                    connection.close()
                    return
                pid = next((struct.unpack("iII", data)[0] for level, kind, data in control
                            if kind == socket.SCM_CREDENTIALS), 0)
                yield pid, text.decode()
        except BlockingIOError:
            pass

    def marks_of(self, least=0, within_s=0.0):
        """All that there are, each process's together; waits a while for the least number."""
        found = []
        end = time.monotonic() + within_s
        while True:
            try:
                while True:
                    connection, _ = self.socket.accept()
                    connection.setblocking(False)
                    self.connections.append(connection)
            except BlockingIOError:
                pass
            for connection in list(self.connections):
                found += self._read(connection)
            if len(found) >= least or time.monotonic() >= end:
                return found
            time.sleep(0.005)

    def texts(self, **how):
        return [text for _, text in self.marks_of(**how)]

    def said(self, **how):
        """The marks without their times."""
        return [re.sub(r" t=\d+$", "", text) for text in self.texts(**how)]
