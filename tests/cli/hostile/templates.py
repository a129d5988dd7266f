"""The folders that cases are copied from, each as a command expects it: `run` and `run2` recorded
jobs, `files` what other tools wrote, `keys` servers' keys, `tree` a copy of a host's files, `pages`
and `tables` empty."""

import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures"
PACKAGE = pathlib.Path(__file__).resolve().parents[3] / "python" / "chokepoint"
JOB = "for i in 1 2 3 4 5; do echo epoch $i; sleep 0.02; done"
NCCL_TESTS = """# nThread 1 nGpus 1 minBytes 1024 maxBytes 1024 step: 2(factor) warmup iters: 5 iters: 20
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
        1024           256     float     sum      -1    10.00    0.10    0.18      0    10.00    0.10    0.18      0
"""


def _is_for_all(path):
    return all(os.stat(above).st_mode & 0o001 for above in path.resolve().parents)


def python_for_all():
    """An interpreter that an ordinary user can start."""
    found = [path for path in (pathlib.Path(sys.executable), pathlib.Path("/usr/bin/python3"))
             if path.exists() and _is_for_all(path)]
    return str(found[0]) if found else None


def program_for_all(program, folder):
    """The program where an ordinary user can start it."""
    if _is_for_all(program):
        return program.resolve()
    copy = folder / "bin" / program.name
    copy.parent.mkdir()
    shutil.copy(program, copy)
    return copy


def _record(program, folder):
    subprocess.run([program, "run", "--out", folder, "-q", "--node", "n",
                    "--step-regex", "epoch (?P<step>[0-9]+)", "--", "sh", "-c", JOB],
                   check=True, stdout=subprocess.DEVNULL)


def _files(program, folder):
    folder.mkdir()
    shutil.copy(FIXTURES / "captures" / "basics.pcap", folder / "a.pcap")
    shutil.copy(FIXTURES / "captures" / "gloo-two-ranks.pcap.zst", folder / "b.pcap.zst")
    (folder / "nccl-tests.txt").write_text(NCCL_TESTS)
    (folder / "probe.json").write_bytes(_printed(program, "probe", "processor", "--time", "50ms",
                                                 "--json"))
    (folder / "curve.json").write_text(json.dumps({
        "schema": "chokepoint.probe.collective/1", "host": "n", "started_at": "2026-01-01T00:00:00Z",
        "backend": "gloo", "ranks": 2, "results": []}))
    (folder / "preflight.json").write_text("{}")
    (folder / "hosts").write_text("127.0.0.1:1\n127.0.0.2:1\n")
    (folder / "limits.toml").write_bytes(_printed(program, "preflight", "--print-limits"))
    (folder / "chokepoint").write_bytes(gzip.compress(b""))
    (folder / "key").write_text("0123456789abcdef0123456789abcdef\n")
    (folder / "key").chmod(0o600)


def _printed(program, *words):
    return subprocess.run([program, *words], check=True, stdout=subprocess.PIPE).stdout


def make(program, unpack, folder):
    for name in ("run", "run2"):
        _record(program, folder / name)
    _files(program, folder / "files")
    (folder / "evidence").mkdir()
    shutil.copy(folder / "files" / "nccl-tests.txt", folder / "evidence")
    (folder / "keys").mkdir(mode=0o700)
    shutil.copy(folder / "files" / "key", folder / "keys" / "127.0.0.1")
    subprocess.run([unpack, FIXTURES / "hosts" / "healthy.host", folder / "tree"], check=True)
    shutil.copytree(PACKAGE, folder / "package" / "chokepoint")
    for name in ("pages", "tables"):
        (folder / name).mkdir()
