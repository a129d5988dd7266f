#!/usr/bin/env python3
"""usage: affected_test.py BUILD

Which programs scripts/lib/affected.py calls affected, by the tree that was built."""
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = sys.argv.pop()


def affected(*files):
    return subprocess.run([ROOT / "scripts/lib/affected.py", BUILD, *(ROOT / f for f in files)],
                          check=True, text=True, stdout=subprocess.PIPE).stdout.split()


class Affected(unittest.TestCase):
    def test_a_test_s_own_source_affects_its_program_alone(self):
        self.assertEqual(affected("tests/base/json/codec_test.cc"), ["base_json_tests"])

    def test_a_source_affects_the_tests_that_include_its_folder(self):
        found = affected("analysis/predict/predict.cc")
        self.assertIn("analysis_predict_tests", found)
        self.assertNotIn("base_math_tests", found)

    def test_what_no_test_includes_affects_none(self):
        self.assertEqual(affected("README.md"), [])


if __name__ == "__main__":
    unittest.main()
