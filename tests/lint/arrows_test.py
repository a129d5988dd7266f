#!/usr/bin/env python3
"""The check of the arrows, held against trees with planted violations."""
import pathlib
import tempfile
import unittest

import arrows


def judge(tree):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in tree.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return [str(violation) for violation in arrows.violations(root)]


HEADERS = {path: "" for path in (
    "base/sys/error.h", "base/math/units.h", "base/net/address.h", "base/host/fact.h",
    "base/cli/table.h", "base/record/reader.h", "probe/host/check.h", "capture/flow/flow.h",
    "rdma/verbs/verbs.h", "analysis/load/load.h")}


def judge_source(path, *lines):
    return judge(HEADERS | {path: "".join(line + "\n" for line in lines)})


class Allowed(unittest.TestCase):
    def allow(self, path, *headers):
        self.assertEqual(judge_source(path, *(f'#include "{header}"' for header in headers)), [])

    def test_down_the_arrows(self):
        self.allow("base/math/units.cc", "base/math/units.h", "base/sys/error.h")
        self.allow("base/host/nic.cc", "base/net/address.h", "base/math/units.h")
        self.allow("base/record/writer.cc", "base/host/fact.h", "base/record/reader.h")
        self.allow("probe/commands/doctor.cc", "probe/host/check.h", "base/record/reader.h")
        self.allow("analysis/report/page.cc", "analysis/load/load.h", "base/cli/table.h")
        self.allow("main.cc", "base/cli/table.h", "probe/host/check.h", "analysis/load/load.h")

    def test_tests_may_include_anything(self):
        self.allow("tests/probe/check_test.cc", "probe/host/check.h", "analysis/load/load.h")
        self.assertEqual(judge_source("tests/base/record/raw_test.cc", "#include <sqlite3.h>"), [])

    def test_reserved_headers_in_their_place(self):
        self.assertEqual(judge_source("base/record/schema.cc", "#include <sqlite3.h>"), [])
        self.assertEqual(judge_source("capture/source/live.cc", "#include <pcap/pcap.h>"), [])
        self.assertEqual(judge_source("rdma/verbs/real.cc", "#include <infiniband/verbs.h>"), [])


class Planted(unittest.TestCase):
    def catch(self, path, line, words):
        found = judge_source(path, "// first line", line)
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(f"{path}:2: "), found[0])
        self.assertIn(words, found[0])

    def test_base_includes_no_other_folder(self):
        self.catch("base/sys/error.cc", '#include "probe/host/check.h"', "nothing else")
        self.catch("base/cli/table.cc", '#include "analysis/load/load.h"', "base/cli may include")

    def test_inside_base(self):
        self.catch("base/sys/error.cc", '#include "base/math/units.h"', "nothing else")
        self.catch("base/math/units.cc", '#include "base/net/address.h"', "base/sys")
        self.catch("base/net/address.cc", '#include "base/host/fact.h"', "base/sys, base/math")
        self.catch("base/host/nic.cc", '#include "base/cli/table.h"', "base/net")
        self.catch("base/record/writer.cc", '#include "base/cli/table.h"', "base/host")

    def test_siblings_never_meet(self):
        self.catch("probe/tcp/tcp.cc", '#include "capture/flow/flow.h"', "out of reach")
        self.catch("capture/flow/flow.cc", '#include "analysis/load/load.h"', "out of reach")
        self.catch("rdma/perf/loop.cc", '#include "probe/host/check.h"', "out of reach")
        self.catch("analysis/report/page.cc", '#include "rdma/verbs/verbs.h"', "out of reach")

    def test_nothing_includes_main(self):
        tree = {"main.cc": "", "probe/tcp/tcp.cc": '#include "main.cc"\n'}
        self.assertEqual(len(judge(tree)), 1)

    def test_no_way_around(self):
        self.catch("base/sys/error.cc", "  #  include <probe/host/check.h>", "nothing else")
        self.catch("base/sys/error.cc", '#include "../../probe/host/check.h"', "from the root")
        self.catch("base/sys/error.cc", '#include "error.h"', "from the root")

    def test_reserved_headers(self):
        self.catch("probe/tcp/tcp.cc", "#include <sqlite3.h>", "base/record alone")
        self.catch("capture/packet/ip.cc", "#include <pcap.h>", "capture/source alone")
        self.catch("rdma/memory/gpu.cc", "#include <infiniband/verbs.h>", "rdma/verbs alone")
        self.catch("probe/host/rdma.cc", "#include <rdma/rdma_cma.h>", "rdma/verbs alone")

    def test_a_folder_without_arrows(self):
        self.assertIn("no arrows", judge({"utils/misc.cc": ""})[0])


class Links(unittest.TestCase):
    TREE = {"base/sys/CMakeLists.txt": "", "probe/host/CMakeLists.txt": "",
            "analysis/load/CMakeLists.txt": "chokepoint_folder(SOURCES a.cc USES base_sys)"}

    def test_down_the_arrows(self):
        self.assertEqual(judge(self.TREE), [])

    def test_against_the_arrows(self):
        found = judge(self.TREE | {"base/sys/CMakeLists.txt":
                                   "# comment\nchokepoint_folder(\n  SOURCES a.cc\n  USES probe_host)"})
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith("base/sys/CMakeLists.txt:2: probe/host"), found[0])

    def test_reserved_libraries(self):
        found = judge(self.TREE | {"probe/host/CMakeLists.txt":
                                   "chokepoint_folder(SOURCES a.cc LINKS SQLite::SQLite3)"})
        self.assertEqual(len(found), 1, found)
        self.assertIn("base/record alone", found[0])


if __name__ == "__main__":
    unittest.main()
