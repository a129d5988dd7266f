#!/usr/bin/env python3
"""Marks as they arrive at a socket, and that nothing raises or waits whatever happens to it."""
import multiprocessing
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import chokepoint
from chokepoint import marking
from listener import MARK, Listener

TREE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ["CHOKEPOINT_PROGRAM"]


def forget():
    """As in a process that has not marked anything."""
    marking._link = None
    marking._next_number = 0
    marking._ended_ns = None


def run(script, **environment):
    """What another Python prints."""
    return subprocess.run([sys.executable, "-c", script], env={**os.environ, **environment},
                          stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout


class Marking(unittest.TestCase):
    def setUp(self):
        forget()
        os.environ.pop("CHOKEPOINT_MARKS", None)
        for name in marking.RANK_VARIABLES:
            os.environ.pop(name, None)


class WhatArrives(Marking):
    def test_steps_are_counted(self):
        with Listener() as listener:
            for _ in range(3):
                with chokepoint.step():
                    pass
            self.assertEqual(listener.said(), ["step 0", "step 1", "step 2"])

    def test_a_number_and_samples(self):
        with Listener() as listener:
            with chokepoint.step(number=17, samples=64):
                pass
            with chokepoint.step():
                pass
            chokepoint.mark("evaluation", number=18)
            chokepoint.mark()
            self.assertEqual(listener.said(),
                             ["step 17 samples=64", "step 18", "evaluation 18", "step 19"])

    def test_the_time_is_that_of_the_mark(self):
        with Listener() as listener:
            before = time.monotonic_ns()
            chokepoint.mark()
            after = time.monotonic_ns()
            told = int(MARK.fullmatch(listener.texts()[0])["t"])
            self.assertTrue(before <= told <= after, (before, told, after))

    def test_names_are_made_one_word(self):
        with Listener() as listener:
            for name in ("two words", "a=b", "Größe", "x" * 100, "", " ", None, 7, b"bytes"):
                chokepoint.mark(name)
            self.assertEqual(listener.said(), ["two-words", "a-b", "Gr-e", "x" * 64, "-"])

    def test_what_is_no_whole_number_is_left_out(self):
        class Tensor:  # to read one of these may wait for a GPU
            def __int__(self):
                raise AssertionError("was read")
            __index__ = __int__
        with Listener() as listener:
            for value in (-1, 1.5, "7", 2**63, Tensor(), None, float("nan")):
                chokepoint.mark("x", value, value)
            chokepoint.mark("x", 2**63 - 1, True)
            self.assertEqual(listener.said(), ["x"] * 7 + [f"x {2**63 - 1} samples=1"])

    def test_batches(self):
        with Listener() as listener:
            seen = []
            for batch in chokepoint.steps(["abc", "de"], samples=len):
                seen += listener.said()
                seen.append(batch)
            for batch in chokepoint.steps([1, 2, 3], samples=8):
                if batch == 2:
                    break
            for _ in chokepoint.steps([[], 1], samples=len, first=100):
                pass
            self.assertEqual(seen, ["step 0 samples=3", "abc", "step 1 samples=2", "de"])
            self.assertEqual(listener.said(), ["step 2 samples=8", "step 3 samples=8",
                                               "step 100 samples=0", "step 101"])

    def test_errors_of_the_loop_pass_through(self):
        with Listener():
            with self.assertRaises(KeyError), chokepoint.step():
                raise KeyError
            with self.assertRaises(ZeroDivisionError):
                for _ in chokepoint.steps(1 / each for each in (1, 0)):
                    pass

    def test_they_arrive_by_name_where_the_folder_is_missing(self):
        with Listener(by_name=True) as listener:
            with chokepoint.step():
                pass
            self.assertEqual(listener.said(), ["step 0"])


class Ranks(Marking):
    CASES = ({}, {"RANK": "3"}, {"RANK": "x", "SLURM_PROCID": "2"}, {"RANK": "-1"}, {"RANK": ""},
             {"RANK": "+1"}, {"RANK": " 1"}, {"RANK": "1 "}, {"RANK": "007"},
             {"RANK": str(2**20 - 1)}, {"RANK": str(2**20)}, {"RANK": str(2**31 - 1)}, {"RANK": "١"},
             {"PMI_RANK": "1", "OMPI_COMM_WORLD_RANK": "4"}, {"MV2_COMM_WORLD_RANK": "5"},
             {"PMIX_RANK": "6", "SLURM_PROCID": "0"}, {"LOCAL_RANK": "1"})

    def test_are_those_that_the_program_finds(self):
        for case in self.CASES:
            with self.subTest(case), Listener() as listener:
                forget()
                os.environ.update(case)
                chokepoint.mark("x")
                subprocess.run([PROGRAM, "mark", "x"], check=True)
                for name in case:
                    del os.environ[name]
                ours, its = (MARK.fullmatch(text)["rank"] for text in listener.texts(within_s=1,
                                                                                     least=2))
                self.assertEqual(ours, its)

    def test_one_that_is_set_later_is_found(self):
        with Listener() as listener:
            chokepoint.mark("x")
            os.environ["RANK"] = "1"
            marking._link.look_again_ns = 0  # as a second later
            chokepoint.mark("x")
            self.assertEqual(listener.said(), ["x", "x rank=1"])

    def test_names_are_those_of_the_sources(self):
        launchers = (TREE / "base/host/launcher.cc").read_text()
        names = re.findall(r'Names\{"\w+", "(\w+)"', launchers)
        self.assertEqual(names, list(marking.RANK_VARIABLES))
        self.assertIn(f'kMarksVariable = "{marking.VARIABLE}"',
                      (TREE / "capture/step/marks.h").read_text())


class WhereNobodyListens(Marking):
    def marked(self):
        """None of this may raise or take long."""
        began = time.monotonic()
        for _ in range(200):
            with chokepoint.step(samples=1):
                pass
            chokepoint.mark("x")
        self.assertLess(time.monotonic() - began, 5)

    def descriptors(self):
        return len(os.listdir("/proc/self/fd"))

    def test_nothing_happens(self):
        before = self.descriptors()
        self.marked()
        self.assertEqual(self.descriptors(), before)

    def test_one_line_says_so(self):
        script = ("import os, chokepoint\nfor _ in range(3): chokepoint.mark()\n"
                  "if os.fork() == 0: chokepoint.mark()\nelse: os.wait()")
        for environment, lines in (({}, 0), ({"CHOKEPOINT_MARKS": "/nowhere/marks"}, 1),
                                   ({"CHOKEPOINT_MARKS": "/nowhere/marks", "RANK": "0"}, 1),
                                   ({"CHOKEPOINT_MARKS": "/nowhere/marks", "RANK": "3"}, 0)):
            with self.subTest(environment):
                said = subprocess.run([sys.executable, "-c", script], check=True, timeout=60,
                                      env={**os.environ, **environment}, capture_output=True,
                                      text=True).stderr
                self.assertEqual(said.count("/nowhere/marks: No such file or directory"), lines)
                self.assertEqual(len(said.splitlines()), lines, said)
        said = run("import sys, chokepoint\nsys.stderr = None\nchokepoint.mark()",
                   CHOKEPOINT_MARKS="/nowhere/marks")
        self.assertEqual(said, "")

    def test_values_that_name_no_socket(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "file")
            file.touch()
            for value in ("", "/nowhere/marks", "x" * 500, folder, str(file), "\udcff", "/dev/null",
                          str(file / "below")):
                with self.subTest(value):
                    forget()
                    os.environ["CHOKEPOINT_MARKS"] = value
                    before = self.descriptors()
                    self.marked()
                    self.assertEqual(self.descriptors(), before)

    def test_a_socket_of_another_kind(self):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            with tempfile.TemporaryDirectory() as folder, \
                    socket.socket(socket.AF_UNIX, kind) as other:
                other.bind(folder + "/marks")
                if kind == socket.SOCK_STREAM:
                    other.listen()
                os.environ["CHOKEPOINT_MARKS"] = folder + "/marks"
                self.marked()

    def test_a_socket_that_may_not_be_written_to(self):
        with Listener() as listener:
            os.chmod(listener.path, 0o400)
            os.chmod(listener.folder.name, 0o755)
            run("import os, chokepoint\n"
                "if os.geteuid() == 0: os.setresuid(65534, 65534, 65534)\n"
                "for _ in range(9): chokepoint.mark()")
            self.assertEqual(listener.texts(), [])

    def test_the_listener_goes_and_another_comes(self):
        with Listener() as listener:
            chokepoint.mark("one")
            self.assertEqual(listener.said(), ["one"])
            listener.close()
            self.marked()
            os.unlink(listener.path)
            self.marked()
            with Listener(listener.path) as other:
                marking._link.look_again_ns = 0  # as a second later
                chokepoint.mark("two")
                self.assertEqual(other.said(), ["two"])

    def test_the_listener_has_no_room(self):
        with Listener() as listener:
            before = None
            for _ in range(5):
                self.marked()
                before = before or self.descriptors()
            self.assertEqual(self.descriptors(), before)
            kept = len(listener.texts())
            self.assertTrue(200 <= kept < 2000, kept)  # of 5 × 400
            chokepoint.mark("after")
            self.assertEqual(listener.said(), ["after"])

    def test_no_descriptor_is_left(self):
        with Listener() as listener:
            said = run("import chokepoint, resource\n"
                       "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))\n"
                       "for _ in range(9): chokepoint.mark()\nprint('goes on')")
            self.assertEqual((said, listener.texts()), ("goes on\n", []))


class Processes(Marking):
    def test_a_forked_child_has_its_own(self):
        with Listener() as listener:
            os.environ["RANK"] = "0"
            chokepoint.mark("parent")
            child = os.fork()
            if child == 0:
                os.environ["RANK"] = "1"
                chokepoint.mark("child")
                os._exit(0)
            os.waitpid(child, 0)
            chokepoint.mark("parent")
            found = [(pid, MARK.fullmatch(text)["name"], MARK.fullmatch(text)["rank"])
                     for pid, text in listener.marks_of()]
            me = os.getpid()
            self.assertEqual(found, [(me, "parent", "0"), (me, "parent", "0"),
                                     (child, "child", "1")])

    def test_threads(self):
        """All that arrives is whole, though the listener comes and goes meanwhile."""
        def mark():
            for number in range(2_000):
                chokepoint.mark("x", number, 8)
                if number % 50 == 0:
                    marking._link = None  # another thread makes a link anew
        with Listener() as listener:
            threads = [threading.Thread(target=mark) for _ in range(8)]
            for thread in threads:
                thread.start()
            texts = []
            while any(thread.is_alive() for thread in threads):
                texts += listener.texts(least=1, within_s=0.01)
            texts += listener.texts()
            self.assertGreater(len(texts), 0)
            for text in texts:
                self.assertRegex(text, r"^x \d+ samples=8 t=\d+$")

    def test_the_last_step_ends_with_its_block(self):
        with Listener() as listener:
            said = run("import chokepoint, time\n"
                       "with chokepoint.step(): pass\n"
                       "print(time.monotonic_ns()); time.sleep(0.2)")
            begun, ended = (MARK.fullmatch(text) for text in listener.texts())
            self.assertEqual((begun["name"], ended["name"]), ("step", "step"))
            self.assertTrue(int(begun["t"]) < int(ended["t"]) <= int(said))

    def test_a_step_that_failed_has_no_end(self):
        with Listener() as listener:
            run("import chokepoint\ntry:\n  with chokepoint.step(): 1 / 0\n"
                "except ZeroDivisionError: pass")
            self.assertEqual(listener.said(), ["step 0"])

    def test_the_last_step_of_a_loop_and_of_multiprocessing(self):
        with Listener() as listener:
            for method in ("fork", "spawn"):
                child = multiprocessing.get_context(method).Process(target=a_loop)
                child.start()
                child.join()
                self.assertEqual(listener.said(), ["step 0", "step 1", "step"], method)


def a_loop():
    forget()
    for _ in chokepoint.steps(range(2)):
        pass


class ThePackage(unittest.TestCase):
    def test_importing_it_loads_little(self):
        loaded = run("import sys, chokepoint; print(*sys.modules)").split()
        for name in ("torch", "numpy", "pandas", "sqlite3", "subprocess", "lightning", "asyncio"):
            self.assertNotIn(name, loaded)

    def test_its_version_is_the_programs(self):
        said = subprocess.run([PROGRAM, "--version"], stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(said.stdout.split()[-1], chokepoint.__version__)

    def test_what_it_offers(self):
        for name in chokepoint.__all__:
            self.assertTrue(hasattr(chokepoint, name), name)


if __name__ == "__main__":
    unittest.main()
