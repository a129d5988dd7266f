"""Which files and folders each command opens: the rows of the test of hostile folders. A new flag
that names a file, and a new file in a run's folder, get their row here.

A row says how its command comes to the place:

  given    the user names it, to be read: what cannot be used fails, and is named
  found    the command finds it in or beside what the user named: it fails, or is passed over
  written  the user names it, to be written: may be a link to a file, a pipe, a device
  made     the command chose the name, in a folder that the user named: nothing is written elsewhere

Words of a command that begin with the name of a template (runner.py makes them) are copied into the
folder in which the command runs: nothing else is there.
"""

import dataclasses
import shlex

# The record that `run` made, and what it, SQLite and `diagnose --confirm` may put beside it.
NODE = "n"
BESIDE_A_RECORD = tuple(f"{NODE}.db{ending}" for ending in ("-wal", "-shm", "-journal", "-lock"))
IN_A_RUN = (f"{NODE}.db", *BESIDE_A_RECORD, "other.db", "confirmation.json")


@dataclasses.dataclass(frozen=True)
class Row:
    command: str
    how: str
    place: str                  # below the folder in which the command runs; "tree/*": all of its files
    is_folder: bool = False     # a folder is expected there
    may_wait: frozenset = frozenset()  # kinds that it waits for until Ctrl-C, as tools do for a pipe
    may_use: frozenset = frozenset()   # kinds that are of use to it, beside those that are good
    follows: bool = False       # a link to what is there may be written through: the user named it
    environment: tuple = ()

    def words(self):
        return shlex.split(self.command)

    def __str__(self):
        return f"{self.how} {self.place}: {self.command}"


def given(command, place, **more):
    return Row(command, "given", place, **more)


def _readers_of_runs():
    commands = ["diagnose run", "report run -o -", "report run --json", "export run --to json -o -",
                "compare run run2", "record show run", "record send run", "live run --once",
                "runs .", "predict --from run", "predict --check run", "collect run --out copy",
                "PYTHON run"]
    for command in commands:
        yield Row(command, "found", "run", is_folder=True)
        for name in IN_A_RUN:
            yield Row(command, "found", f"run/{name}")
        if not command.startswith(("runs", "collect", "compare", "record send")):
            # What follows a record's last page is not looked at.
            yield given(command.replace("run ", f"run/{NODE}.db ", 1) if "run " in command
                        else command.removesuffix("run") + f"run/{NODE}.db", f"run/{NODE}.db",
                        may_use=frozenset(("sparse file",)))


def _writers_of_runs():
    for command in ("run -q --out run --node n -- true", "run -q --append --out run --node n -- true",
                    "run -q --strict --append --out run --node n -- true",
                    "doctor -q --record run", "probe processor -q --record run --time 50ms",
                    "capture -q -r files/a.pcap --record run --node n"):
        yield Row(command, "made", "run", is_folder=True)
        for name in IN_A_RUN[:-1]:
            yield Row(command, "made", f"run/{name}")
    for name in (*IN_A_RUN[:-1], f".{NODE}.db@run2.part"):
        yield Row("collect run2 --out run", "made", f"run/{name}")


def _evidence():
    for flag, good in (("--with", "files/nccl-tests.txt"), ("--ceiling", "files/probe.json")):
        for command in ("diagnose run", "report run -o -"):
            yield given(f"{command} {flag} {good}", good,
                        may_use=frozenset(("folder",) if flag == "--with" else ()))
    yield given("diagnose run --with evidence", "evidence", is_folder=True)
    yield Row("diagnose run --with evidence", "found", "evidence/nccl-tests.txt")
    yield given("predict --ranks 8 --parameters 1M --compute 10ms --curve files/curve.json",
                "files/curve.json")
    yield Row("compare files/probe.json files/curve.json", "found", "files/probe.json")
    yield Row("compare files run", "found", "files/probe.json")


def _captures():
    # Packets up to a hole are shown.
    of_use = {"may_wait": frozenset(("pipe",)), "may_use": frozenset(("sparse file",))}
    yield given("capture -q -r files/a.pcap", "files/a.pcap", **of_use)
    yield given("capture -q -r files/a.pcap -r files/b.pcap.zst", "files/b.pcap.zst", **of_use)
    for name in ("files/out.pcap", "files/out.pcapng", "files/out.pcap.zst"):
        yield Row(f"capture -q -r files/a.pcap -w {name}", "written", name)
    yield Row("capture -q -r files/a.pcap -w files/out.pcap --rotate-size 1KB", "made",
              "files/out-0002.pcap")


def _keys():
    for command in ("probe tcp 127.0.0.1:1", "probe path 127.0.0.1:1",
                    "ask 127.0.0.1:1 doctor", "preflight 127.0.0.1:1 127.0.0.2:1",
                    "serve --bind 203.0.113.1",
                    "probe collective --hosts 127.0.0.1:1,127.0.0.2:1"):
        yield given(f"{command} --key-file files/key", "files/key")
    yield given("web --listen 203.0.113.1 --token-file files/key", "files/key")
    for command in ("probe tcp 127.0.0.1:1", "serve --bind 203.0.113.1"):
        yield given(f"{command} --key-file keys", "keys", is_folder=True)
        yield given(f"{command} --key-file keys", "keys/127.0.0.1")


def _preflight():
    hosts = "preflight 127.0.0.1:1 127.0.0.2:1"
    yield given("preflight --hosts-file files/hosts", "files/hosts")
    yield given(f"{hosts} --limits files/limits.toml", "files/limits.toml",
                may_use=frozenset(("empty file",)))
    yield given(f"{hosts} --baseline files/preflight.json", "files/preflight.json")
    yield given("preflight 192.0.2.1 192.0.2.2 --launch ssh --copy files/chokepoint",
                "files/chokepoint", may_use=frozenset(("empty file", "huge text")),
                environment=(("PATH", "/none"),))  # no ssh: no host is reached

    # Whether they can be written is looked at before the hosts are, which fail here.
    for flag in ("-o", "--keep"):
        yield Row(f"{hosts} {flag} files/out", "found", "files/out", follows=True)
    yield Row(f"{hosts} --record run", "found", "run", is_folder=True)


def _copied_hosts():
    for command in ("doctor --root tree", "doctor --root tree --json", "probe pcie --root tree",
                    "rdma devices --root tree"):
        yield Row(command, "found", "tree", is_folder=True)
        yield Row(command, "found", "tree/*")
        for name in ("proc", "sys", "etc", "sys/class/net", "sys/bus/pci/devices", "proc/net"):
            yield Row(command, "found", f"tree/{name}", is_folder=True)


def _outputs():
    for command in ("report run -o files/out", "report run --format text -o files/out",
                    "compare run run2 -o files/out", "export run --to perfetto -o files/out",
                    "export run --to prometheus -o files/out", "export run --to json -o files/out",
                    "export run --to otlp -o files/out"):
        yield Row(command, "written", "files/out")
    for command, folder, names in (("report run run2", "pages", ("run.html", "run2.html")),
                                   ("export run --to csv", "tables", ("nodes.csv", "steps.csv"))):
        yield Row(f"{command} -o {folder}", "made", folder, is_folder=True)
        for name in names:
            yield Row(f"{command} -o {folder}", "made", f"{folder}/{name}")
    yield Row("man-pages pages", "made", "pages", is_folder=True)
    yield Row("man-pages pages", "made", "pages/chokepoint.1")
    yield Row("probe storage -q pages --bytes 1MB --time 20ms", "made", "pages", is_folder=True)


def _left_overs():
    """What others left in TMPDIR under names that are ours."""
    for name in ("chokepoint-nccl-abcdef", "chokepoint-abcdef", "chokepoint-marks-abcdef"):
        yield Row("run -q --out run3 --node n -- true", "made", f"TMPDIR/{name}", is_folder=True)
    yield Row("mark step --required", "found", "marks", environment=(("CHOKEPOINT_MARKS", "marks"),))


ROWS = tuple(row for rows in (_readers_of_runs, _writers_of_runs, _evidence, _captures, _keys,
                              _preflight, _copied_hosts, _outputs, _left_overs) for row in rows())
