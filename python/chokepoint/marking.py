"""Marks from inside a job: messages on a connection to the Unix socket that CHOKEPOINT_MARKS
names, as capture/step/marks.h describes them. Nothing here raises, and nothing waits: a mark that
the connection has no room for is lost, and without a listener a mark does nothing, but for one line
on standard error where there should be one.

Any thread may call, also in a forked child. There is no lock, because a lock that another thread
holds during fork() stays locked in the child. Instead, what belongs together is one object that is
replaced as a whole: _link. Its socket is closed when the last thread that sends by it lets go of
it, so no thread can send to a descriptor that means something else by then. A forked child begins
without one.

Between two marks a job's own work fills the processor's caches, so what counts in mark() is how
much code it goes through: few calls, and one formatting.
"""
import atexit
import numbers
import os
import re
import socket
import sys
import time

VARIABLE = "CHOKEPOINT_MARKS"
STEP = "step"

_LOOK_AGAIN_NS = 1_000_000_000  # after this the environment and the listener are looked at again
_MAX_NUMBER = 2**63 - 1
_MAX_RANK = 2**20 - 1  # base/sys/ranks.h
_MAX_NAME = 64
# A listener takes a mark's own time only if it is less than a minute old.
_MAX_DELAY_NS = 50_000_000_000
_FLAGS = socket.MSG_NOSIGNAL
_now_ns = time.monotonic_ns
_ROOM_BYTES = 1 << 18  # for marks that nobody has read; the kernel clamps it to net.core.wmem_max
_NO_NAME = re.compile(r"[^!-<>-~]+")  # all but printable ASCII without a space or '='

# The nearest to the training first: base/host/launcher.cc.
RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
                  "SLURM_PROCID")


def find_rank(environment):
    """The rank that a launcher set, or None."""
    for name in RANK_VARIABLES:
        text = environment.get(name)
        if text and len(text) <= 10 and text.isascii() and text.isdigit() and \
                int(text) <= _MAX_RANK:
            return int(text)
    return None


class _Sender:
    """A connected socket, closed when nobody uses it any more."""

    __slots__ = ("socket",)

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _ROOM_BYTES)
        try:
            self.socket.connect(path)
        except BlockingIOError:  # it is there, and has no room
            raise
        except OSError:
            # In a chroot or a container without that folder: the network namespace has the name.
            if self.socket.connect_ex(b"\0" + path) != 0:
                raise

    def __del__(self):
        try:
            self.socket.close()
        except AttributeError:  # there was no descriptor left for it
            pass


class _Link:
    """Where this process's marks go. Never changed, only replaced."""

    __slots__ = ("path", "sender", "rank", "look_again_ns")

    def __init__(self, path, sender, rank, look_again_ns):
        self.path = path
        self.sender = sender  # None: nobody listens
        self.rank = rank      # b" rank=3", or empty: then the listener goes by the process
        self.look_again_ns = look_again_ns


_link = None
_has_said = False
_next_number = 0
_ended_ns = None  # when the newest step ended, if that is known and no step has begun since


def _begin_child():
    global _link, _ended_ns
    _link = _ended_ns = None


os.register_at_fork(after_in_child=_begin_child)


def _look(now_ns):
    """Makes the link anew by what the environment says now."""
    global _link
    before = _link
    path = os.fsencode(os.environ.get(VARIABLE, ""))
    sender = None
    if before is None:
        _end_with_the_process()
    elif before.path == path:
        sender = before.sender
    if sender is None and path:
        try:
            sender = _Sender(path)
        except BlockingIOError:
            pass  # more connect at once than the listener has room for
        except (OSError, ValueError) as error:  # nobody listens, or this is no path of a socket
            if before is None and not find_rank(os.environ):
                _say_that_none_arrives(path, error)
    rank = find_rank(os.environ) if sender else None
    link = _Link(path, sender, b"" if rank is None else b" rank=%d" % rank,
                 now_ns + _LOOK_AGAIN_NS)
    _link = link
    return link


def _say_that_none_arrives(path, error):
    """Once, by the rank that speaks for the others, or by a process that is none."""
    global _has_said
    if not _has_said:
        _has_said = True
        try:
            why = getattr(error, "strerror", None) or error
            sys.stderr.write(f"chokepoint: no step marks: {os.fsdecode(path)}: {why}; a job in a "
                             "container needs that folder, or the network namespace of "
                             "'chokepoint run'\n")
        except Exception:  # no standard error, or nobody reads it
            pass


def _send(link, text):
    global _link
    try:
        link.sender.socket.send(text, _FLAGS)
    except BlockingIOError:
        pass  # no room
    except OSError:
        _link = _Link(link.path, None, b"", link.look_again_ns)


def _whole(value):
    """A number as a mark may have it, or None. Tensors are left out: to read one may wait for a
    GPU."""
    if type(value) is not int:
        if value is None or not isinstance(value, numbers.Integral):
            return None
        value = int(value)
    return value if 0 <= value <= _MAX_NUMBER else None


def mark(name=STEP, number=None, samples=None):
    """Tells the `chokepoint run` that watches this job that something begins now.

    "step" begins a step of this rank and ends the one before; `samples` is how much training data
    it processes on this rank. Another name becomes an event of the record. A name is at most 64
    printable ASCII characters; others in it, such as spaces, become '-'.
    """
    global _ended_ns, _next_number
    try:
        now_ns = _now_ns()
        link = _link
        if link is None or now_ns >= link.look_again_ns:
            link = _look(now_ns)
        if number is not None:
            number = _whole(number)
        if samples is not None:
            samples = _whole(samples)
        if name == STEP:
            _ended_ns = None
            if number is None:
                number = _next_number  # told, so that marks that get lost shift none
            _next_number = number + 1 if number < _MAX_NUMBER else number
        if link.sender is not None:
            _send(link, _text_of(link, name, number, samples, now_ns))
    except Exception:  # whatever it is, a job must not fail because it is watched
        pass


def _text_of(link, name, number, samples, t_ns):
    if name == STEP and samples is None:
        return b"step %d%s t=%d" % (number, link.rank, t_ns)
    if name == STEP:
        return b"step %d samples=%d%s t=%d" % (number, samples, link.rank, t_ns)
    text = _NO_NAME.sub("-", name)[:_MAX_NAME].encode("ascii")
    if not text:
        raise ValueError("a mark has a name")
    if number is not None:
        text += b" %d" % number
    if samples is not None:
        text += b" samples=%d" % samples
    return b"%s%s t=%d" % (text, link.rank, t_ns)


def note_end_of_step():
    """The newest step is over. Only told if it was the last: see _end_last_step."""
    global _ended_ns
    _ended_ns = _now_ns()


def forget_end_of_step():
    global _ended_ns
    _ended_ns = None


def _end_last_step():
    """A step ends where the next begins, so the last one of a process needs another mark."""
    global _ended_ns
    try:
        ended_ns = _ended_ns
        _ended_ns = None
        link = _link
        if ended_ns is not None and link is not None and link.sender is not None and \
                _now_ns() - ended_ns < _MAX_DELAY_NS:
            _send(link, b"step%s t=%d" % (link.rank, ended_ns))
    except Exception:
        pass


def _end_with_the_process():
    """Processes of multiprocessing end without running what atexit knows."""
    try:
        util = sys.modules.get("multiprocessing.util")
        if util is not None:
            util.Finalize(None, _end_last_step, exitpriority=0)
    except Exception:
        pass


atexit.register(_end_last_step)


class step:
    """One step of a training loop: `with chokepoint.step():` around what makes it.

    The step begins here and lasts until the next one begins, so that what happens between them,
    such as waiting for data, counts to it. The last step ends with its block.
    """

    __slots__ = ("number", "samples")

    def __init__(self, number=None, samples=None):
        self.number = number
        self.samples = samples

    def __enter__(self):
        mark(STEP, self.number, self.samples)
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            note_end_of_step()
        else:
            forget_end_of_step()
        return False


def _samples_of(samples, batch):
    try:
        return samples(batch) if callable(samples) else samples
    except Exception:
        return None


def steps(batches, samples=None, first=None):
    """The batches, with a step around what is done with each: `for batch in steps(loader):`.

    `samples` is the size of a batch, or a function that tells it of a batch: `samples=len`. Steps
    count from `first`, or go on from the newest step.
    """
    number = _whole(first)
    for batch in batches:
        mark(STEP, number, _samples_of(samples, batch))
        number = None
        try:
            yield batch
        finally:
            note_end_of_step()
