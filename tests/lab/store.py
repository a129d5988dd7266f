#!/usr/bin/env python3
"""usage: store.py PORT FOLDER BYTES

An object store of the lab's own, by HTTP: each object is of so many bytes, whatever its name is.
GET /rank-0/sample-3 is answered as fast as FOLDER/rank-0/speed says just then (speed.py).
"""

import functools
import http.server
import pathlib
import sys

from speed import Speed


class Objects(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # a connection for many requests
    disable_nagle_algorithm = True
    wbufsize = 1 << 20  # head and body at once

    def do_GET(self):
        size = self.server.size
        self.server.speed_of(self.path.split("/")[1]).wait(size)
        self.send_response(http.HTTPStatus.OK)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        self.wfile.write(bytes(size))

    def log_message(self, *_):
        pass


class Store(http.server.ThreadingHTTPServer):
    def __init__(self, port, folder, size):
        super().__init__(("", port), Objects)
        self.folder, self.size = folder, size

    def speed_of(self, rank):
        speed = self.speed(rank)
        speed.set((self.folder / rank / "speed").read_text())
        return speed

    @functools.cache
    def speed(self, rank):
        return Speed()


def main(port, folder, size):
    Store(int(port), pathlib.Path(folder), int(size)).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
