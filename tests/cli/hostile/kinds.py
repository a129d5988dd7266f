"""What may stand where a command expects a file or a folder: a table of kinds, each with a function
that puts it at a path. `Sources` holds what several cases share, since a huge file is made once."""

import dataclasses
import os
import pathlib
import pty
import shutil
import socket
import stat
import threading

HUGE_BYTES = 80 << 20
SPARSE_BYTES = 64 << 30


class Sources:
    """Files that all cases link to. Owned by the run of the test, read only."""

    def __init__(self, folder):
        self.huge = folder / "huge"
        line = b"a huge text of one line after another, which is no file of any kind\n"
        with open(self.huge, "wb") as file:
            for _ in range(HUGE_BYTES // (len(line) << 12)):
                file.write(line * (1 << 12))
        own, terminal = pty.openpty()
        self.terminal = os.ttyname(terminal)
        threading.Thread(target=self._show, args=(own,), daemon=True).start()


    @staticmethod
    def _show(own):
        """A terminal takes what is written to it."""
        while os.read(own, 65536):
            pass


@dataclasses.dataclass(frozen=True)
class Place:
    path: pathlib.Path     # where it is put; what was there has gone
    before: pathlib.Path   # what was there, kept elsewhere; may be missing
    outside: pathlib.Path  # a folder that no command was told of


def fifo(place, _):
    os.mkfifo(place.path)


def listening_socket(place, _):
    # Bound by a short name: a socket's address has 107 bytes.
    before = os.open(".", os.O_RDONLY)
    os.chdir(place.path.parent)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(place.path.name)
    os.fchdir(before)
    os.close(before)


def device(place, _):
    try:
        os.mknod(place.path, 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    except PermissionError:
        place.path.symlink_to("/dev/zero")


def terminal(place, sources):
    place.path.symlink_to(sources.terminal)


def folder(place, _):
    place.path.mkdir()


def empty(place, _):
    place.path.touch()


def huge(place, sources):
    shutil.copyfile(sources.huge, place.path)


def sparse(place, _):
    if place.before.is_file():
        shutil.copy(place.before, place.path)
    else:
        place.path.touch()
    os.truncate(place.path, SPARSE_BYTES)


def dangling_link(place, _):
    place.path.symlink_to(place.outside / "missing")


def looped_link(place, _):
    place.path.symlink_to(place.path.name)


def link_out(place, _):
    target = place.outside / "target"
    if place.before.is_dir():
        shutil.copytree(place.before, target, symlinks=True)
    elif place.before.exists():
        shutil.copy(place.before, target)
    else:
        target.write_text("what lies outside\n")
    place.path.symlink_to(target)


def put_back(place):
    if place.before.is_dir():
        shutil.copytree(place.before, place.path, symlinks=True)
    elif place.before.exists():
        shutil.copy(place.before, place.path)
    else:
        place.path.write_text("of another user\n")


def unreadable(place, _):
    put_back(place)
    place.path.chmod(0)


def foreign(place, _):
    put_back(place)
    place.path.chmod(0o755 if place.path.is_dir() else 0o644)


def growing(place, _):
    put_back(place)


class Growth:
    """Appends to a file until it is left; at most so much that a disk has room for it."""

    MOST_BYTES = 64 << 20

    def __init__(self, path):
        self._path = path
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._grow)

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()

    def _grow(self):
        piece = b"and one more line\n" * 4096
        try:
            with open(self._path, "ab", buffering=0) as file:
                while not self._is_over.wait(0.001) and file.tell() < self.MOST_BYTES:
                    file.write(piece)
        except OSError:
            pass


@dataclasses.dataclass(frozen=True)
class Kind:
    name: str
    put: callable
    is_good: bool = False       # the content is still what the command can use
    is_stream: bool = False     # gives bytes to whoever waits for them, or takes them
    is_content: bool = False    # a regular file, of which a command that writes has nothing to fear
    wants_user: bool = False    # means something to an ordinary user only
    for_folders: bool = True    # may stand in place of a folder, too


KINDS = (
    Kind("pipe", fifo, is_stream=True),
    Kind("socket", listening_socket),
    Kind("device", device, is_stream=True),
    Kind("terminal", terminal, is_stream=True),
    Kind("folder", folder),
    Kind("empty file", empty, is_content=True),
    Kind("huge text", huge, is_content=True, for_folders=False),
    Kind("sparse file", sparse, is_content=True, for_folders=False),
    Kind("dangling link", dangling_link),
    Kind("looped link", looped_link),
    Kind("link out of the folder", link_out, is_good=True),
    Kind("unreadable", unreadable, wants_user=True),
    Kind("another user's", foreign, is_good=True, wants_user=True),
    Kind("growing file", growing, is_good=True, is_content=True, for_folders=False),
)
