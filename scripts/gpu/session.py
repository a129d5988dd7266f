"""Chooses checks, runs them one after the other within their time, and keeps what they found."""

import argparse
import json
import pathlib
import shutil
import sys
import tarfile
import tempfile
import time
import traceback

import machine
import programs
from outcome import Failed, Skipped

TREE = pathlib.Path(__file__).resolve().parents[2]
WHOLE_S = 8.5 * 60
MOST_KEPT_BYTES = 14 << 20  # of logs and records together


class Session:
    """What checks share: chokepoint, a folder each, and the time that is left."""

    def __init__(self, chokepoint, work):
        self.chokepoint = chokepoint
        self.work = work
        self.began = time.monotonic()
        self.folder = work
        self.until = self.began + WHOLE_S
        self.shared = {}  # what one check leaves to the next
        self.running = []

    def left_s(self):
        return self.until - time.monotonic()

    def begin(self, name, limit_s):
        self.folder = self.work / name
        self.folder.mkdir()
        self.until = min(self.began + WHOLE_S, time.monotonic() + limit_s)

    def start(self, name, command, environment=None):
        self.running.append(programs.Program(self.folder, name, command, environment))
        return self.running[-1]

    def run(self, name, command, environment=None, fine=(0,)):
        return self.start(name, command, environment).wait(self.left_s(), fine)

    def ask(self, name, words, environment=None, fine=(0,)):
        """chokepoint's answer as a document."""
        text = self.run(name, [self.chokepoint, *words], environment, fine)
        return programs.document(text, "chokepoint " + " ".join(str(word) for word in words))

    def finish(self):
        for program in self.running:
            program.end()
        self.running = []


def arguments(text):
    parser = argparse.ArgumentParser(prog="scripts/gpu-check", description=text,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help="what there is")
    parser.add_argument("--only", action="append", default=[], metavar="NAME",
                        help="this check, or all whose names begin so; may be given again")
    parser.add_argument("--tarball", type=pathlib.Path, help="of scripts/package")
    parser.add_argument("--chokepoint", type=pathlib.Path, help="the program itself")
    parser.add_argument("--out", type=pathlib.Path, default=TREE / "build/gpu-check")
    return parser.parse_args()


def unpacked(tarball, folder):
    folder.mkdir()
    with tarfile.open(tarball) as archive:
        archive.extractall(folder, **({"filter": "tar"} if sys.version_info >= (3, 12) else {}))
    found = sorted(folder.glob("*/bin/chokepoint")) + sorted(folder.glob("bin/chokepoint"))
    if not found:
        raise SystemExit(f"gpu-check: {tarball} holds no bin/chokepoint")
    return found[0]


def program_of(asked, work):
    if asked.chokepoint:
        return asked.chokepoint.resolve()
    tarballs = sorted((TREE / "build/package").glob("chokepoint-*-linux-*.tar.gz"))
    tarball = asked.tarball or (tarballs[-1] if tarballs else None)
    if tarball:
        return unpacked(tarball, work / "unpacked")
    return TREE / "build/release/chokepoint"


def chosen(checks, only):
    for name in only:
        if not any(check.name.startswith(name) for check in checks):
            print(f"gpu-check: no check is called '{name}'; '--list' tells what there is",
                  file=sys.stderr)
            raise SystemExit(2)
    return [check for check in checks
            if not only or any(check.name.startswith(name) for name in only)]


def outcome_of(check, session, lacking):
    if lacking:
        return "SKIP", lacking, {}
    if session.began + WHOLE_S - time.monotonic() < check.least_s:
        return "SKIP", "no time was left", {}
    session.begin(check.name, check.limit_s)
    try:
        passed = check.run(session)
        return "PASS", passed.text, passed.figures
    except Skipped as reason:
        return "SKIP", str(reason), {}
    except Failed as problem:
        return "FAIL", str(problem), problem.figures
    except Exception as problem:  # a check's own mistake must not hide the other checks' findings
        (session.folder / "traceback").write_text(traceback.format_exc())
        return "FAIL", f"{type(problem).__name__}: {problem}", {}
    finally:
        session.finish()


class Report:
    def __init__(self, out):
        out.mkdir(parents=True, exist_ok=True)
        self.out = out
        self.lines = []
        self.results = []

    def say(self, line):
        print(line, flush=True)
        self.lines.append(line)
        (self.out / "summary.txt").write_text("\n".join(self.lines) + "\n")

    def add(self, name, status, text, figures, seconds):
        self.results.append({"check": name, "status": status, "found": text,
                             "took_s": round(seconds, 1), "figures": figures})
        (self.out / "results.json").write_text(json.dumps(self.results, indent=1, default=str))
        self.say(f"{status}  {name:<20} {' '.join(text.split())}")

    def count(self, status):
        return sum(result["status"] == status for result in self.results)

    def keep_logs(self, work):
        """The small files first, since a large record must not push out what explains it."""
        files = sorted((file for file in work.rglob("*")
                        if file.is_file() and work / "unpacked" not in file.parents),
                       key=lambda file: file.stat().st_size)
        room = MOST_KEPT_BYTES
        with tarfile.open(self.out / "logs.tar.gz", "w:gz") as archive:
            for file in files:
                room -= file.stat().st_size
                if room > 0:
                    archive.add(file, file.relative_to(work))


def main(text):
    import checks
    asked = arguments(text)
    wanted = chosen(checks.ALL, asked.only)
    if asked.list:
        for check in wanted:
            print(f"{check.name:<20} {check.tells}")
        return 0
    work = pathlib.Path(tempfile.mkdtemp(prefix="gpu-check."))
    try:
        session = Session(program_of(asked, work), work)
        report = Report(asked.out)
        lacking = machine.lacking(session.chokepoint)
        for check in wanted:
            began = time.monotonic()
            status, found, figures = outcome_of(check, session, lacking)
            report.add(check.name, status, found, figures, time.monotonic() - began)
        report.keep_logs(work)
        report.say(f"{report.count('PASS')} passed, {report.count('FAIL')} failed, "
                   f"{report.count('SKIP')} skipped")
        return 1 if report.count("FAIL") else 0
    finally:
        shutil.rmtree(work, ignore_errors=True)
