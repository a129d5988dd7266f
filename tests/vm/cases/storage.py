"""Ranks whose files come from another host by NFS, watched by chokepoint."""

import pathlib

import nfs
from checks import holds, same

EXCHANGE = pathlib.Path(__file__).resolve().parents[2] / "lab/jobs/exchange.py"
POINT, EXPORT, PORT = "/mnt", "/run/export", 5000
FILES, MEGABYTES, STEPS = 6, 2, 60
KEEP_SECONDS = 120


def test_ranks_that_wait_for_nfs_are_told_with_its_mount(pair):
    """Each from the other's host, over the link of the job: both are true that it waits for NFS, and
    that the link is full of it."""
    a, b = pair
    for machine in pair:
        nfs.serve(machine, EXPORT)
        machine.run(["sh", "-c", f"for n in $(seq {FILES}); do head -c {MEGABYTES}M /dev/urandom "
                                 f">{EXPORT}/sample-$n; done"])
    with nfs.mounted(a, b, POINT), nfs.mounted(b, a, POINT):
        ranks = [watched(a, 0, ["listen", a.ipv4]), watched(b, 1, ["connect", a.ipv4])]
        same([rank.wait(KEEP_SECONDS) for rank in ranks], [0, 0], "exit statuses")
    records = a.share / "nfs"
    records.mkdir()
    for machine in pair:
        machine.run(["sh", "-c", f"cp /run/nfs/* {records}/"])
    verdict = a.json(["chokepoint", "diagnose", records, "--json"])["verdict"]
    holds((verdict["class"], verdict["cause"]) in (("input", "remote-file-system"),
                                                   ("lan-bandwidth", "storage-traffic")), verdict)
    same(verdict["where"]["mount"], POINT, verdict)


def watched(machine, rank, words):
    return machine.start(
        ["chokepoint", "run", "--out", "/run/nfs", "--node", machine.name, "--", "python3", EXCHANGE,
         *words, PORT, "--steps", STEPS, "--bytes", 50_000, "--rest", 0.05, "--read", POINT],
        environment={"RANK": str(rank), "WORLD_SIZE": "2"})
