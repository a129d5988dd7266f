#!/usr/bin/env python3
"""usage: stranger.py garbage|silence|flood|http|closes PORT

Listens where an agent is expected, and is none: answers with random bytes, not at all, without
end, as a web server, or hangs up.
"""

import contextlib
import os
import socket
import sys
import threading
import time

HTTP = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"


def talk(client, kind):
    with contextlib.suppress(OSError), client:
        if kind == "closes":
            return
        if kind == "garbage":
            client.sendall(os.urandom(4096))
        if kind == "http":
            client.sendall(HTTP)
        while kind == "flood":
            client.sendall(os.urandom(1 << 16))
            time.sleep(0.01)
        while client.recv(65_536):
            pass


def main(kind, port):
    listener = socket.create_server(("::", int(port)), family=socket.AF_INET6,
                                    dualstack_ipv6=True)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=talk, args=(client, kind), daemon=True).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
