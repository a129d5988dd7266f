"""Who reads packets, and with which rights: nobody, with none."""

import os
import pathlib
import shutil
import signal
import time

from checks import between, holds, same
from disks import disk_that_freezes
from transfers import Transfer
from watched import Watched, exchange

MEGABYTE = 1_000_000
NOBODY_ID = 65534
NOBODY = ["setpriv", f"--reuid={NOBODY_ID}", f"--regid={NOBODY_ID}", "--clear-groups"]


def status_of(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.split() for name, value in (line.split(":", 1) for line in lines)}


def sends(link):
    with Transfer(link.a, link.b) as transfer:
        transfer.send(MEGABYTE)


def holds_without_rights(pid, but=()):
    status = status_of(pid)
    same(set(status["Uid"] + status["Gid"]), {str(NOBODY_ID)}, "users and groups")
    same(status["Groups"], [], "other groups")
    for name in sorted({"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} - set(but)):
        same(int(status[name][0], 16), 0, name)
    same(status["NoNewPrivs"], ["1"], "no_new_privs")
    same(status["Seccomp"], ["2"], "seccomp")


def below(pid):
    """All living descendants."""
    children = pathlib.Path(f"/proc/{pid}/task").glob("*/children")
    found = [int(child) for file in children for child in file.read_text().split()]
    return found + [each for child in found for each in below(child)]


def name_of(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


def installed(lab, folder):
    """A copy of the program as packages lay it out, which anybody may run."""
    program = pathlib.Path(shutil.which("chokepoint", path=":".join(lab.programs))).resolve()
    (folder / "bin").mkdir(parents=True)
    shutil.copy(program, folder / "bin")
    shutil.copytree(program.parent / "lib", folder / "lib")
    lab.folder.chmod(0o755)
    return folder / "bin/chokepoint", folder / "lib/chokepoint/chokepoint-capture"


def test_a_watch_of_root_reads_packets_as_nobody(lab):
    left, right = lab.host("left"), lab.host("right")
    link = lab.link(left, right, 200)
    right.serve(exchange("listen", link.b.ipv4, 5000, "--steps", 40, "--bytes", MEGABYTE), 5000)
    run = Watched(left, exchange("connect", link.b.ipv4, 5000, "--steps", 40, "--bytes", MEGABYTE),
                  lab.folder / "run")
    readers = []

    def has_readers():
        readers[:] = [pid for pid in below(run.process.pid) if name_of(pid).startswith("chokepoint-capt")]
        return readers
    run.process.until(has_readers, 10, "a process that reads packets")
    run.process.until(lambda: "step 3 " in run.stdout(), 20, "the third step")
    for pid in readers:
        holds_without_rights(pid)
    run.wait(60)
    with run.record() as record:
        holds(record.value("SELECT count(*) FROM flow_sample") > 0, "no packets were seen")


def test_a_capture_of_root_reads_packets_as_nobody(lab):
    left, right = lab.host("left"), lab.host("right")
    link = lab.link(left, right, 200)
    run = left.start(["chokepoint", "capture", "-i", link.a.interface,
                      "--record", lab.folder / "run", "--write", lab.folder / "kept.pcap"])
    run.until(lambda: "listening" in run.stderr(), 10, "it listened")
    holds_without_rights(run.pid)
    sends(link)
    run.signal(signal.SIGINT)
    same(run.wait(20), 130, "exit status")
    for told in ("packets written to", "kept in"):
        holds(told in run.stderr(), f"not {told}: {run.stderr()}")
    holds((lab.folder / "kept.pcap").stat().st_size > 100, "no packets were written")
    same((lab.folder / "kept.pcap").stat().st_uid, 0, "whose file it is")


def test_one_program_alone_may_have_the_right_to_capture(lab):
    lab.needs("setpriv", "setcap")
    left, right = lab.host("left"), lab.host("right")
    link = lab.link(left, right, 200)
    program, helper = installed(lab, lab.folder / "installed")
    left.run(["setcap", "cap_net_raw+ep", helper])

    run = left.start([*NOBODY, program, "capture", "-i", link.a.interface, "--time", "2",
                      "--json"])
    run.until(lambda: "listening" in run.stderr(), 10, "it listened")
    # Who has this one right cannot narrow what others could be given.
    holds_without_rights(run.pid, but=["CapBnd"])
    sends(link)
    same(run.wait(20), 0, "exit status")

    out = lab.folder / "out"
    out.mkdir()
    out.chmod(0o777)
    right.serve(exchange("listen", link.b.ipv4, 5000, "--bytes", MEGABYTE), 5000)
    watched = Watched(left, exchange("connect", link.b.ipv4, 5000, "--bytes", MEGABYTE), out / "run",
                      before=[*NOBODY, "env", f"PATH={program.parent}:{os.environ['PATH']}"])
    watched.wait(60)
    with watched.record() as record:
        holds(record.value("SELECT count(*) FROM flow_sample") > 0, "no packets were seen")


def test_with_capabilities_of_its_own_the_program_refuses(lab):
    lab.needs("setpriv", "setcap")
    left = lab.host("left")
    program, _ = installed(lab, lab.folder / "installed")
    left.run(["setcap", "cap_net_raw+ep", program])
    for words in (["doctor"], ["run", "--", "true"], ["diagnose", lab.folder]):
        refused = left.run([*NOBODY, program, *words], status=1)
        holds("setcap -r" in refused.stderr(), f"it does not say what to do: {refused.stderr()}")
        same(refused.stdout(), "", "standard output")


def test_a_capture_whose_disk_freezes_ends(lab):
    lab.needs("fsfreeze", "mkfs.ext4")
    left, right = lab.host("left"), lab.host("right")
    link = lab.link(left, right, 200)
    with disk_that_freezes(lab.folder) as disk:
        run = left.start(["chokepoint", "capture", "-i", link.a.interface, "--record", disk / "run",
                          "--write", disk / "kept.pcap"])
        run.until(lambda: "listening" in run.stderr(), 10, "it listened")
        sends(link)
        left.run(["fsfreeze", "-f", disk])
        sends(link)
        began = time.monotonic()
        run.signal(signal.SIGINT)
        same(run.wait(30), 1, "exit status")
        between(time.monotonic() - began, 0, 15, "seconds until it had ended")
        holds("disk" in run.stderr(), f"it does not say why: {run.stderr()}")
        holds(link.b.ipv4 in run.stdout(), "what it saw is not told")
        left.run(["fsfreeze", "-u", disk])
