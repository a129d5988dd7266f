"""The other end of marks: a socket as `chokepoint run` has it, and what arrived there."""
import os
import re
import select
import socket
import struct
import tempfile

MARK = re.compile(r"(?P<name>\S+)(?: (?P<number>\d+))?(?: samples=(?P<samples>\d+))?"
                  r"(?: rank=(?P<rank>\d+))? t=(?P<t>\d+)")


class Listener:
    """A context: CHOKEPOINT_MARKS names its socket meanwhile."""

    def __init__(self, path=None):
        self.folder = tempfile.TemporaryDirectory()
        self.path = path or os.path.join(self.folder.name, "marks")

    def __enter__(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.socket.bind(self.path)
        os.environ["CHOKEPOINT_MARKS"] = self.path
        return self

    def __exit__(self, *_):
        os.environ.pop("CHOKEPOINT_MARKS", None)
        self.socket.close()
        self.folder.cleanup()

    def marks_of(self, most=100_000, within_s=0.0):
        """Pairs of the sender's process id and the mark's text."""
        found = []
        while len(found) < most and select.select([self.socket], [], [], within_s)[0]:
            text, control, _, _ = self.socket.recvmsg(512, 256)
            pid = next((struct.unpack("iII", data)[0] for level, kind, data in control
                        if kind == socket.SCM_CREDENTIALS), 0)
            found.append((pid, text.decode()))
        return found

    def texts(self, **how):
        return [text for _, text in self.marks_of(**how)]

    def said(self, **how):
        """The marks without their times."""
        return [re.sub(r" t=\d+$", "", text) for text in self.texts(**how)]
