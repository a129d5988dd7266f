"""usage: corpus_test.py CHOKEPOINT

What the corpus stores, what it refuses to read, and that its gate fails where it should."""

import contextlib
import io
import json
import lzma
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "bench" / "attribution"))

import archive  # noqa: E402
import gate  # noqa: E402
import ledger  # noqa: E402
import picking  # noqa: E402
import recordings  # noqa: E402
import rows  # noqa: E402
import store  # noqa: E402
import tables  # noqa: E402
import verdicts  # noqa: E402
from rows import Refused  # noqa: E402

PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
STEPS = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo epoch $i; sleep 0.05; done"
TRUTH = {"name": "x", "truth": {"class": "compute"}, "fault": {}, "steps_ms": [50.0] * 12,
         "exit_statuses": {"n": 0}}
FILES = {"truth.json": archive.text_of(TRUTH), "records/a.db": b"rows" * 1000,
         "early/a.db": b"rows"}


def tar_of(*members, files=None):
    """Compressed; `members`: TarInfo, with nothing in them, beside what a play has."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as made:
        for name, data in (FILES if files is None else files).items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            made.addfile(member, io.BytesIO(data))
        for member in members:
            made.addfile(member)
    return lzma.compress(whole.getvalue(), preset=0)


def member(name, kind=tarfile.REGTYPE, target=""):
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, target
    return made


def made_play(folder, name, truth, twin=None):
    (folder / "records").mkdir(parents=True)
    (folder / "records" / "n.db").write_bytes(b"rows")
    (folder / "truth.json").write_text(json.dumps(
        {**TRUTH, "name": name, "truth": truth, "job": {"shape": "dp"},
         **({"steps_ms": [90.0] * 12, "twin": os.path.relpath(twin, folder)} if twin else {})}))


class InAFolder(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="corpus-test-")
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)


class Archives(unittest.TestCase):
    def refused(self, data):
        with self.assertRaises(Refused):
            archive.unpacked(data)

    def test_what_was_packed_is_read(self):
        self.assertEqual(archive.unpacked(archive.packed(FILES)), FILES)

    def test_the_same_files_are_the_same_archive(self):
        self.assertEqual(archive.packed(FILES), archive.packed(dict(FILES)))

    def test_members_that_no_play_has(self):
        for hostile in (member("../x.db"), member("records/../../x.db"), member("/records/b.db"),
                        member("records/b.db\n"), member("records/.db"), member("b.db"),
                        member("records/b.db", tarfile.SYMTYPE, "/etc/passwd"),
                        member("records/b.db", tarfile.LNKTYPE, "truth.json"),
                        member("records/b.db", tarfile.FIFOTYPE),
                        member("records/b.db", tarfile.CHRTYPE),
                        member("records", tarfile.DIRTYPE),
                        member("records/b.db", tarfile.GNUTYPE_SPARSE),
                        member("records/a.db")):  # the second of that name
            with self.subTest(name=hostile.name, type=hostile.type):
                self.refused(tar_of(hostile))

    def test_plays_that_lack_something(self):
        self.refused(tar_of(files={"truth.json": b"{}"}))
        self.refused(tar_of(files={"records/a.db": b""}))

    def test_too_much(self):
        self.refused(tar_of(*(member(f"records/{number}.db") for number in range(64))))
        self.refused(tar_of(files={**FILES, "records/b.db": bytes(archive.MOST_BYTES)}))

    def test_a_size_that_is_not_there(self):
        huge = member("records/b.db")
        huge.size = 1 << 40
        self.refused(tar_of(huge))

    def test_more_than_one_stream(self):
        self.refused(archive.packed(FILES) * 2)

    def test_whatever_is_broken_is_refused_or_read(self):
        """But raises nothing else."""
        chance, whole = random.Random(1), archive.packed(FILES)
        plain = lzma.decompress(whole)
        for _ in range(100):
            with contextlib.suppress(Refused):
                archive.unpacked(broken(chance, whole))
            with contextlib.suppress(Refused):
                archive.unpacked(lzma.compress(broken(chance, plain[:2000]), preset=0))
        for end in range(0, len(whole) - 1, 7):
            self.refused(whole[:end])

    def test_truths(self):
        for text in (b"", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"truth": 1, "steps_ms": []}',
                     b'{"truth": {"class": 1}, "steps_ms": []}',
                     b'{"truth": {"class": "compute"}, "steps_ms": ["x"]}',
                     b'{"truth": {"class": "compute"}, "steps_ms": [NaN]}'):
            with self.subTest(text=text[:40]), self.assertRaises(Refused):
                archive.truth_of(text)


def broken(chance, data):
    """Some bytes are others, and it may end early."""
    made = bytearray(data)
    for _ in range(chance.randint(1, 8)):
        made[chance.randrange(len(made))] = chance.randrange(256)
    return bytes(made[:chance.choice((len(made), chance.randrange(len(made))))])


class Stored(InAFolder):
    def setUp(self):
        super().setUp()
        twin = self.folder / "sweep" / "twins" / "t"
        made_play(twin, "w", {"class": "compute"})
        for number in (1, 2):
            name = f"draw-7-0000{number}-lossy"
            made_play(self.folder / "sweep" / "1" / name, name, {"class": "lan-loss"}, twin)
        (self.folder / "corpus").mkdir()
        self.corpus = store.Corpus(self.folder / "corpus")
        for case in recordings.below(self.folder / "sweep")[0]:
            self.corpus.add(case)
        self.first = self.corpus.plays()[0]

    def rejects(self, play):
        with self.assertRaises(Refused), self.corpus.opened(play):
            pass

    def test_a_play_is_as_it_was_and_twins_are_stored_once(self):
        with self.corpus.opened(self.first) as case:
            self.assertEqual((case.folder / "records" / "n.db").read_bytes(), b"rows")
            self.assertEqual((case.name, case.lost_ms("mean_ms")), ("draw-7-00001-lossy", 40.0))
        self.assertFalse(case.folder.exists())
        self.assertEqual((self.first.kind, self.first.shape, self.first.set), ("lossy", "dp", "7"))
        self.assertEqual(len(list((self.folder / "corpus" / "twins").iterdir())), 1)

    def test_what_is_dropped_is_gone_and_its_twin_with_the_last_that_had_it(self):
        twins = self.folder / "corpus" / "twins"
        for name, left in (("draw-7-00001-lossy", 1), ("draw-7-00002-lossy", 0)):
            self.corpus.drop(name)
            self.assertFalse(self.corpus.file_of(name).exists())
            self.assertEqual(len(list(twins.iterdir())), left)
        self.assertEqual(self.corpus.plays(), [])
        with self.assertRaises(Refused):
            self.corpus.drop("draw-7-00001-lossy")

    def test_another_file_than_the_index_lists(self):
        self.corpus.file_of(self.first.name).write_bytes(archive.packed(FILES))
        self.rejects(self.first)

    def test_another_twin(self):
        self.corpus.twin_file(self.first.twin).write_bytes(
            archive.compressed(archive.text_of(TRUTH)))
        self.rejects(self.first)

    def test_an_index_that_leads_elsewhere(self):
        for word, text in (("name", "../x"), ("twin", "../../twins/x"), ("bytes", "-1")):
            rows.write(self.corpus.index, store.COLUMNS, [{**self.first.line(), word: text}])
            with self.subTest(word=word), self.assertRaises(Refused):
                self.corpus.plays()


class Picked(InAFolder):
    def test_of_each_kind_before_two_of_one(self):
        for number, kind in enumerate(("healthy", "healthy", "healthy", "far", "late")):
            name = f"draw-7-0000{number}-{kind}"
            made_play(self.folder / name, name, {"class": "compute"})
        chosen = picking.picked(self.folder, "*", [], 4)
        self.assertEqual(sorted(store.kind_of(case) for case in chosen),
                         ["far", "healthy", "healthy", "late"])
        self.assertEqual(len(picking.picked(self.folder, "*-far", [], 4)), 1)


class Judged(InAFolder):
    def test_first_steps_are_judged_where_the_fault_was_there(self):
        (self.folder / "early").mkdir()
        for fault, is_judged in (({"kind": "link"}, True), ({"kind": "cut", "from_s": 2}, False)):
            case = recordings.Recording(self.folder, "p", {**TRUTH, "fault": fault})
            self.assertEqual("early" in verdicts.records_of(case), is_judged)

    def test_an_interval_holds_the_true_lost_time_or_not(self):
        for between, does in (([30, 50], True), ([30, 39], False), (None, None)):
            self.assertIs(tables.holds({"told": {"lost_between": between}, "class_right": True,
                                        "lost": {"true": 40}}), does)


def line(play="p", record="whole", told="lan-loss", **changed):
    values = {"is_class_right": True, "is_place_right": True, "is_within_15": True,
              "is_within_10": False, "is_alarm": False, **changed}
    return gate.Line(play, record, told, **values)


class Gate(unittest.TestCase):
    def losses(self, before, after):
        kinds = {one.play: "lossy" for one in [*before, *after]}
        return gate.losses(gate.by_key(before), gate.by_key(after), kinds)

    def test_nothing_is_lost(self):
        self.assertEqual(self.losses([line()], [line()]), [])
        self.assertEqual(self.losses([line(is_class_right=False, is_within_15=None)], [line()]), [])

    def test_what_is_lost_of_a_play(self):
        for changed, word in (
                ({"told": "compute", "is_class_right": False, "is_place_right": None}, "class"),
                ({"is_place_right": False}, "place"), ({"is_alarm": True}, "alarm")):
            told = self.losses([line()], [line(**changed)])
            self.assertEqual(len(told), 1, told)
            self.assertIn(word, told[0])

    def test_a_play_that_is_gone(self):
        self.assertEqual(len(self.losses([line()], [])), 1)

    def test_one_of_a_kind_may_go_and_two_may_not(self):
        before = [line(play) for play in "abc"]
        near, off = line("a"), [line(play, is_within_15=False) for play in "bc"]
        self.assertEqual(self.losses(before, [near, off[0], before[2]]), [])
        self.assertEqual(len(self.losses(before, [near, *off])), 1)
        self.assertEqual(self.losses(before[1:], [off[0], line("c", "early")])[1:], [])

    def test_gains_and_new_plays_are_told(self):
        before, after = gate.by_key([line()]), gate.by_key([line(is_within_10=True), line("q")])
        self.assertEqual(gate.gains(before, after), 1)
        self.assertEqual(gate.unexpected(before, after), ["q, whole: no line in expected.tsv"])


class Files(InAFolder):
    def test_expected_lines_are_read_as_they_were_written(self):
        lines = gate.by_key([line(), line("q", is_place_right=None)])
        gate.write(self.folder / "expected.tsv", lines)
        self.assertEqual(gate.read(self.folder / "expected.tsv"), lines)

    def test_tables_that_are_none(self):
        file = self.folder / "expected.tsv"
        head = "\t".join(gate.COLUMNS)
        maybe = "\t".join(["p", "whole", "x", *["maybe"] * 5])
        for text in ("", "play\n", f"{head}\na\tb\n", f"{head}\n{maybe}\n"):
            file.write_text(text)
            with self.subTest(text=text), self.assertRaises(Refused):
                gate.read(file)

    def test_no_line_becomes_two(self):
        with self.assertRaises(Refused):
            rows.write(self.folder / "x.tsv", ("a",), [{"a": "x\ny"}])


@unittest.skipUnless(shutil.which("git"), "git is missing")
class InATree(InAFolder):
    """A clone with an analysis/ and a corpus, judged by the real program."""

    def setUp(self):
        super().setUp()
        self.corpus = self.folder / "tests" / "corpus"
        self.rules = self.folder / "analysis" / "rules.cc"
        for made in (self.corpus, self.rules.parent):
            made.mkdir(parents=True)
        self.git("init", "--quiet")
        self.freeze("first")

    def git(self, *words):
        return subprocess.run(
            ["git", "-C", self.folder, "-c", "user.name=t", "-c", "user.email=t@localhost", *words],
            check=True, text=True, stdout=subprocess.PIPE).stdout.strip()

    def freeze(self, text):
        self.rules.write_text(text)
        self.git("add", "analysis")
        self.git("commit", "--quiet", "--message", text)

    def corpus_command(self, *words, program=PROGRAM):
        given = ["--program", program, "--report", self.folder / "report.json"] if (
            words[0] in ("judge", "gate", "accept")) else []
        done = subprocess.run([sys.executable, "-B", HERE, "--corpus", self.corpus, *words, *given],
                              text=True, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        return done.returncode, done.stdout, done.stderr

    def seed(self):
        return self.corpus_command("seed")

    def test_a_seed_is_of_the_rules_as_they_were_committed(self):
        tree = self.git("rev-parse", "HEAD:analysis")
        self.assertEqual(self.seed()[:2], (0, f"{int(tree[:8], 16)}\n"))
        self.rules.write_text("second")
        self.assertEqual(self.seed()[0], 1)
        first = int(tree[:8], 16)
        self.freeze("second")
        self.assertNotIn(self.seed()[1], ("", f"{first}\n"))

    def test_rules_have_one_set(self):
        ledger.append(self.corpus / "ledger.tsv", "tree", {self.seed()[1].strip()}, "a", "b", "")
        self.assertEqual(self.seed()[0], 1)
        self.freeze("second")
        self.assertEqual(self.seed()[0], 0)

    def store_a_play(self):
        """Of a job that sleeps. Its truth is what is told, so that there is something to lose."""
        play = self.folder / "sweep" / "draw-7-00001-late"
        made_play(self.folder / "sweep" / f"{play.name}.twin", "twin", {"class": "compute"})
        subprocess.run([PROGRAM, "run", "--out", play / "records", "-q", "--node", "n",
                        "--step-regex", "epoch (?P<step>[0-9]+)", "--", "sh", "-c", STEPS],
                       check=True, stdout=subprocess.DEVNULL)
        shutil.copytree(play / "records", play / "early")
        told = json.loads(subprocess.run([PROGRAM, "diagnose", play / "records", "--json"],
                                         check=False, stdout=subprocess.PIPE).stdout)
        name = told["verdict"]["class"]
        (play / "truth.json").write_text(json.dumps({**TRUTH, "name": play.name,
                                                     "steps_ms": [90.0] * 12,
                                                     "truth": {"class": name}}))
        self.assertEqual(self.corpus_command("add", self.folder / "sweep")[0], 0)
        return name

    def doctored(self, name):
        """A program that tells another class."""
        file = self.folder / "chokepoint"
        change = f's/"class": "{name}"/"class": "wan-loss"/'
        file.write_text(f"#!/bin/sh\n'{PROGRAM}' \"$@\" | sed '{change}'\n")
        file.chmod(0o755)
        return file

    @unittest.skipUnless(PROGRAM, "no chokepoint was given")
    def test_the_gate_fails_where_a_verdict_is_lost(self):
        name = self.store_a_play()
        self.assertEqual(self.corpus_command("gate")[0], 1)  # nothing was accepted yet
        self.assertEqual(self.corpus_command("accept")[0], 0)
        code, told, _ = self.corpus_command("gate")
        self.assertEqual(code, 0, told)

        code, told, _ = self.corpus_command("gate", program=self.doctored(name))
        self.assertEqual(code, 1)
        self.assertIn(f"whole: the class {name} was right, wan-loss is not", told)
        self.refuses_to_accept(self.doctored(name))

    def refuses_to_accept(self, program):
        before = (self.corpus / "expected.tsv").read_text()
        self.assertEqual(self.corpus_command("accept", program=program)[0], 1)
        self.assertEqual((self.corpus / "expected.tsv").read_text(), before)
        self.assertEqual(self.corpus_command("accept", "--reason", "a test", program=program)[0], 0)
        self.assertEqual([one["reason"] for one in ledger.read(self.corpus / "ledger.tsv")],
                         ["-", "a test"])
        self.assertEqual(self.corpus_command("gate", program=program)[0], 0)


if __name__ == "__main__":
    unittest.main()
