"""Weights that rank 0 sends to the last rank over HTTP, beside what both exchange in their steps or between them."""

import http.client
import http.server
import itertools
import os
import socket
import threading

import torch.distributed as dist

CHUNK = 1 << 20


class Taking(http.server.BaseHTTPRequestHandler):
    """Reads what is put, and forgets it."""

    protocol_version = "HTTP/1.1"

    def do_PUT(self):
        left = int(self.headers["Content-Length"])
        while left > 0:
            left -= len(self.rfile.read(min(left, CHUNK)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def own_address():
    """By which the first rank's host is reached."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        way.connect((os.environ["MASTER_ADDR"], 9))
        return way.getsockname()[0]


class Pusher:
    """Puts the same bytes whenever it is called."""

    def __init__(self, place, megabytes):
        self.place = place
        self.body = bytes(int(megabytes * 1e6))
        self.connection = http.client.HTTPConnection(*place)

    def __call__(self):
        self.connection.request("PUT", "/weights", self.body)
        self.connection.getresponse().read()

    def for_ever(self):
        while True:
            self()


def pusher(megabytes):
    """On rank 0, to a server that begins on the last one; nothing on the others. On every rank, once
    they have met."""
    places = [None]
    last = dist.get_world_size() - 1
    if dist.get_rank() == last:
        server = http.server.ThreadingHTTPServer(("0.0.0.0", 0), Taking)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        places = [(own_address(), server.server_address[1])]
    dist.broadcast_object_list(places, src=last)
    return Pusher(places[0], megabytes) if dist.get_rank() == 0 else None


def with_pushes(step, push, every):
    """A step, and in every so many of them a push before it; 0: pushes beside all of them."""
    if push is None:
        return step
    if every == 0:
        threading.Thread(target=push.for_ever, daemon=True).start()
        return step
    steps = itertools.count(1)

    def pushing_step():
        if next(steps) % every == 0:
            push()
        return step()

    return pushing_step
