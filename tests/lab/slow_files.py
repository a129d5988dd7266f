#!/usr/bin/env python3
"""usage: slow_files.py MOUNT_POINT FILES BYTES

A file system of one's own: FILES files of BYTES each, sample-0 and so on, and what is written beside
them, which is thrown away. All of it is as slow as the last line that was written to its file `speed`
says: "MBPS LATENCY_MS", megabits a second of all requests together, and how long each takes besides;
"0 0", as it begins, is as fast as it can be. Nothing stays in the kernel's memory, so that each read
comes here. Runs until it is unmounted.
"""

import errno
import stat
import sys

import fusepy as fuse

from speed import Speed

BLOCK_BYTES = 4096
ROOM_BYTES = 1 << 30  # nothing is kept


class SlowFiles(fuse.Operations):
    def __init__(self, files, size):
        self.speed = Speed()
        self.sizes = {f"/sample-{number}": size for number in range(files)} | {"/speed": 0}

    def known(self, path):
        if path not in self.sizes:
            raise fuse.FuseOSError(errno.ENOENT)
        return self.sizes[path]

    def getattr(self, path, fh=None):
        if path == "/":
            return {"st_mode": stat.S_IFDIR | 0o755, "st_nlink": 2}
        return {"st_mode": stat.S_IFREG | 0o644, "st_nlink": 1, "st_size": self.known(path)}

    def statfs(self, path):
        blocks = ROOM_BYTES // BLOCK_BYTES
        return {"f_bsize": BLOCK_BYTES, "f_frsize": BLOCK_BYTES, "f_blocks": blocks,
                "f_bfree": blocks, "f_bavail": blocks}

    def readdir(self, path, fh):
        return [".", "..", *(name[1:] for name in self.sizes)]

    def open(self, path, flags):
        self.known(path)
        return 0

    def create(self, path, mode, fi=None):
        self.sizes[path] = 0
        return 0

    def truncate(self, path, length, fh=None):
        self.known(path)
        self.sizes[path] = length

    def unlink(self, path):
        self.known(path)
        del self.sizes[path]

    def read(self, path, size, offset, fh):
        count = max(0, min(size, self.known(path) - offset))
        self.speed.wait(count)
        return bytes(count)

    def write(self, path, data, offset, fh):
        if path == "/speed":
            self.speed.set(data.decode())
        else:
            self.speed.wait(len(data))
            self.sizes[path] = max(self.known(path), offset + len(data))
        return len(data)


def main(mount_point, files, size):
    fuse.FUSE(SlowFiles(int(files), int(size)), mount_point, foreground=True, direct_io=True,
              big_writes=True, fsname="slow-files")


if __name__ == "__main__":
    main(*sys.argv[1:])
