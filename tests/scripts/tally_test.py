#!/usr/bin/env python3
"""What scripts/test says at its end follows from what its stages left behind."""
import pathlib
import subprocess
import tempfile
import unittest

TALLY = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lib" / "tally.py"


def junit(*cases):
    return "<testsuite>" + "".join(cases) + "</testsuite>"


def case(name, status, verdict="", output=""):
    return (f'<testcase name="{name}" status="{status}">{verdict}'
            f"<system-out>{output}</system-out></testcase>")


PASSED = case("A.Passes", "run")
FAILED = case("A.Fails", "fail", '<failure message=""/>', "expected 1, got 2")
FAILED_THEN_PASSED = case("A.Fails", "run")
SKIPPED = case("A.Skips", "notrun", '<skipped message="SKIP_RETURN_CODE=77"/>',
               "skipped: no loop device")
GOOGLE_PASSED = "[ RUN      ] A.Passes\n[       OK ] A.Passes (0 ms)\n"
GOOGLE_SKIPPED = ("[ RUN      ] A.SkipsToo\na_test.cc:7: Skipped\nneeds root\n\n"
                  "[  SKIPPED ] A.SkipsToo (0 ms)\n")
GOOGLE_FAILED = ("[ RUN      ] A.Fails\na_test.cc:9: Failure\nexpected 1, got 2\n"
                 "[  FAILED  ] A.Fails, where GetParam() = 3 (1 ms)\n")
GOOGLE_CRASHED = "[ RUN      ] A.Crashes\n"
GOOGLE_OK = "[       OK ] A.Crashes (0 ms)\n"


def program(status, *said):
    verdict = "" if status == "run" else '<failure message=""/>'
    return case("a_tests", status, verdict, "[==========] Running 3 tests.\n" + "".join(said))


PROGRAM = program("run", GOOGLE_PASSED, GOOGLE_SKIPPED)
FAILING_PROGRAM = program("fail", GOOGLE_PASSED, GOOGLE_FAILED)
CRASHING_PROGRAM = program("fail", GOOGLE_PASSED, GOOGLE_CRASHED)
NOT_STARTED = case("A.IsNotBuilt", "notrun", '<skipped message="Unable to find executable"/>')


class Tally(unittest.TestCase):
    def tally(self, stages, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                (pathlib.Path(folder) / name).write_text(text)
            done = subprocess.run([TALLY, folder, *stages], text=True, stdout=subprocess.PIPE)
            return done.returncode, done.stdout.splitlines()

    def test_adds_up_all_stages(self):
        code, lines = self.tally(["release", "asan"], {"release.xml": junit(PASSED, PASSED),
                                                       "asan.xml": junit(PASSED)})
        self.assertEqual((code, lines), (0, ["3 passed, 0 failed, 0 skipped"]))

    def test_a_failure_is_shown_and_counts(self):
        code, lines = self.tally(["release"], {"release.xml": junit(PASSED, FAILED)})
        self.assertEqual(code, 1)
        self.assertIn("failed: release: A.Fails", lines)
        self.assertIn("  | expected 1, got 2", lines)
        self.assertEqual(lines[-1], "1 passed, 1 failed, 0 skipped")

    def test_a_skip_keeps_its_reason(self):
        code, lines = self.tally(["release"],
                                 {"release.xml": junit(PASSED, SKIPPED, PROGRAM)})
        self.assertEqual(code, 0)
        self.assertIn("  release: A.Skips: no loop device", lines)
        self.assertIn("  release: a_tests: A.SkipsToo: needs root", lines)
        self.assertEqual(lines[-1], "2 passed, 0 failed, 2 skipped")

    def test_cases_of_a_program_count_one_by_one(self):
        code, lines = self.tally(["release"], {"release.xml": junit(FAILING_PROGRAM)})
        self.assertEqual(code, 1)
        self.assertIn("failed: release: a_tests: A.Fails", lines)
        self.assertIn("  | expected 1, got 2", lines)
        self.assertEqual(lines[-1], "1 passed, 1 failed, 0 skipped")

    def test_a_program_that_crashes_fails_where_it_was(self):
        code, lines = self.tally(["release"], {"release.xml": junit(CRASHING_PROGRAM)})
        self.assertEqual(code, 1)
        self.assertIn("failed: release: a_tests: A.Crashes", lines)
        self.assertEqual(lines[-1], "1 passed, 1 failed, 0 skipped")

    def test_a_program_that_fails_after_its_cases_has_failed(self):
        leak = program("fail", GOOGLE_PASSED, "ERROR: LeakSanitizer: detected memory leaks\n")
        code, lines = self.tally(["asan"], {"asan.xml": junit(leak)})
        self.assertEqual(code, 1)
        self.assertIn("failed: asan: a_tests", lines)
        self.assertEqual(lines[-1], "1 passed, 1 failed, 0 skipped")

    def test_a_program_that_crashed_and_then_did_not(self):
        code, lines = self.tally(["release"], {
            "release.xml": junit(CRASHING_PROGRAM),
            "release-again.xml": junit(program("run", GOOGLE_PASSED, GOOGLE_CRASHED + GOOGLE_OK,
                                               GOOGLE_SKIPPED))})
        self.assertEqual(code, 0)
        self.assertEqual(lines[-1], "2 passed, 0 failed, 1 skipped")

    def test_what_could_not_start_failed(self):
        code, lines = self.tally(["release"], {"release.xml": junit(PASSED, NOT_STARTED)})
        self.assertEqual((code, lines[-1]), (1, "1 passed, 1 failed, 0 skipped"))

    def test_a_stage_that_never_came_to_its_tests(self):
        code, lines = self.tally(["release", "fuzz"], {"release.xml": junit(PASSED),
                                                       "fuzz.note": "skipped\tno clang\n"})
        self.assertEqual((code, lines[-1]), (0, "1 passed, 0 failed, 1 skipped"))
        code, lines = self.tally(["asan"], {"asan.note": "failed\tthe build failed\n"})
        self.assertEqual((code, lines[-1]), (1, "0 passed, 1 failed, 0 skipped"))

    def test_no_result_is_a_failure(self):
        self.assertEqual(self.tally(["release"], {})[0], 1)
        self.assertEqual(self.tally(["release"], {"release.xml": "<testsuite"})[0], 1)
        self.assertEqual(self.tally(["release"], {"release.xml": junit()})[0], 1)
        self.assertEqual(self.tally(["release"], {"release.xml": junit(SKIPPED)})[0], 1)

    def test_what_passed_when_run_again_counts_and_is_named(self):
        code, lines = self.tally(["release"], {"release.xml": junit(PASSED, FAILED),
                                               "release-again.xml": junit(FAILED_THEN_PASSED)})
        self.assertEqual(code, 0)
        self.assertEqual(lines[-1], "2 passed, 0 failed, 0 skipped")
        self.assertIn("passed only when run again: release: ", lines[0])

    def test_what_fails_again_has_failed(self):
        code, lines = self.tally(["release"], {"release.xml": junit(PASSED, FAILED),
                                               "release-again.xml": junit(FAILED)})
        self.assertEqual(code, 1)
        self.assertEqual(lines[-1], "1 passed, 1 failed, 0 skipped")

    def test_what_a_sanitizer_reported_stays_failed(self):
        race = FAILED.replace("<system-out>", "<system-out>WARNING: ThreadSanitizer: data race ")
        self.assertNotEqual(race, FAILED)
        code, _ = self.tally(["tsan"], {"tsan.xml": junit(PASSED, race),
                                        "tsan-again.xml": junit(FAILED_THEN_PASSED)})
        self.assertEqual(code, 1)


if __name__ == "__main__":
    unittest.main()
