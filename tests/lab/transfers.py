"""One TCP stream between two hosts of the lab, made by the test itself: so what the sender's kernel
counts of it can be asked of the very socket.

    with Transfer(link.a, link.b) as transfer:
        transfer.send(2_000_000)
    print(transfer.final["total_retrans"])
"""

import socket
import struct
import threading
import time

import traffic
from kernel import Failed

PORT = 5001
PATIENCE_SECONDS = 30
POLL_SECONDS = 0.002
CHUNK = 1 << 18
CLOSED = 7
# struct tcp_info of linux/tcp.h: what is asked for, and where it stands.
FIELDS = {"state": ("B", 0), "backoff": ("B", 4), "snd_mss": ("I", 16), "rtt": ("I", 68),
          "total_retrans": ("I", 100), "bytes_acked": ("Q", 120), "bytes_retrans": ("Q", 208),
          "snd_wnd": ("I", 228)}


class Transfer:
    """From `sender` to `receiver`, both ends of links. A thread reads there whenever it may."""

    def __init__(self, sender, receiver, ipv6=False, send_buffer=None, receive_buffer=None):
        near, far = (end.ipv6 if ipv6 else end.ipv4 for end in (sender, receiver))
        self.rtts_ms = []
        self.sent = 0
        self.final = self.receiver_final = None
        self.may_read = threading.Event()
        self.may_read.set()
        with traffic.bound(receiver.host, far, socket.SOCK_STREAM, PORT) as listener:
            limit(listener, socket.SO_RCVBUF, receive_buffer)
            listener.listen()
            listener.settimeout(PATIENCE_SECONDS)
            self.sender = traffic.bound(sender.host, near, socket.SOCK_STREAM)
            limit(self.sender, socket.SO_SNDBUF, send_buffer)
            self.sender.connect((far, PORT))
            self.receiver, _ = listener.accept()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.may_read.set()
        if kind is None:
            self.finish()
        self.sender.close()
        self.receiver.close()

    def finish(self):
        """Both say that they are done, and know that the other knows: nothing is sent any more, and
        the kernels have counted everything."""
        self.sender.shutdown(socket.SHUT_WR)
        self.reader.join(PATIENCE_SECONDS)
        self.receiver.shutdown(socket.SHUT_WR)
        self.until(lambda told: told["state"] == CLOSED == info(self.receiver)["state"], "an end")
        self.final, self.receiver_final = self.told(), info(self.receiver)

    def read(self):
        while self.may_read.wait() and self.receiver.recv(CHUNK):
            pass

    def told(self):
        return info(self.sender)

    def start(self, count):
        """Writes so many bytes, as far as there is room, and does not wait for more."""
        self.sent += count
        writer = threading.Thread(target=self.sender.sendall, args=[bytes(count)], daemon=True)
        writer.start()

    def send(self, count):
        """Returns when the kernel has an acknowledgement of every byte. It is asked for the round
        trip all the time, since it keeps no list of them."""
        self.start(count)
        self.until(lambda told: told["bytes_acked"] > self.sent, "everything acknowledged")
        return self

    def until(self, condition, what):
        end = time.monotonic() + PATIENCE_SECONDS
        while not condition(told := self.told()):
            if time.monotonic() > end:
                raise Failed(f"not within {PATIENCE_SECONDS} s: {what}")
            self.rtts_ms.append(told["rtt"] / 1000)
            time.sleep(POLL_SECONDS)

    def median_rtt_ms(self):
        return traffic.median(self.rtts_ms)


def info(connected):
    raw = connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return {name: struct.unpack_from("=" + kind, raw, place)[0]
            for name, (kind, place) in FIELDS.items()}


def limit(made, option, size):
    if size:
        made.setsockopt(socket.SOL_SOCKET, option, size)
