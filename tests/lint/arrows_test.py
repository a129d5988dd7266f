#!/usr/bin/env python3
"""The check of the arrows, held against trees with planted violations."""
import pathlib
import tempfile
import unittest

import arrows

TREE = {
    "base/CMakeLists.txt": "chokepoint_folder(base/sys)\n"
                           "chokepoint_folder(base/math USES base_sys)\n"
                           "chokepoint_folder(base/host USES base_math)  # and base_cli\n"
                           "chokepoint_folder(base/cli USES base_sys)\n"
                           "chokepoint_folder(base/record USES base_host LINKS SQLite::SQLite3)\n",
    "probe/CMakeLists.txt": "chokepoint_folder(probe/tcp USES base_cli)\n"
                            "chokepoint_folder(probe/udp\n  USES base_host probe_tcp)\n",
    "capture/CMakeLists.txt": "chokepoint_folder(capture/flow)\n"
                              "chokepoint_folder(capture/source LINKS PkgConfig::PCAP)\n",
    "rdma/CMakeLists.txt": "chokepoint_folder(rdma/verbs)\n",
    **{path: "" for path in ("base/sys/error.h", "base/math/units.h", "base/host/fact.h",
                             "base/cli/table.h", "base/record/reader.h", "probe/tcp/tcp.h",
                             "probe/udp/udp.h", "capture/flow/flow.h", "rdma/verbs/verbs.h")}}


def judge(tree):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in tree.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return [str(violation) for violation in arrows.violations(root)]


def judge_source(path, *lines):
    return judge(TREE | {path: "".join(line + "\n" for line in lines)})


class Allowed(unittest.TestCase):
    def allow(self, path, *headers):
        self.assertEqual(judge_source(path, *(f'#include "{header}"' for header in headers)), [])

    def test_down_the_arrows(self):
        self.allow("base/math/units.cc", "base/math/units.h", "base/sys/error.h")
        self.allow("base/record/writer.cc", "base/host/fact.h", "base/sys/error.h")
        self.allow("probe/udp/udp.cc", "probe/tcp/tcp.h", "base/host/fact.h", "base/cli/table.h")
        self.allow("main.cc", "base/cli/table.h", "probe/tcp/tcp.h", "capture/flow/flow.h")

    def test_a_modules_folder_has_the_arrows_of_the_one_above(self):
        self.allow("probe/udp/module/a.cc", "probe/udp/udp.h", "probe/tcp/tcp.h")

    def test_tests_may_include_anything(self):
        self.allow("tests/probe/tcp_test.cc", "probe/udp/udp.h", "capture/flow/flow.h")
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

    def test_base_includes_no_other_part(self):
        self.catch("base/sys/error.cc", '#include "probe/tcp/tcp.h"', "nothing else")

    def test_inside_a_part(self):
        self.catch("base/sys/error.cc", '#include "base/math/units.h"', "does not use base/math")
        self.catch("base/host/nic.cc", '#include "base/cli/table.h"', "does not use base/cli")
        self.catch("probe/tcp/tcp.cc", '#include "probe/udp/udp.h"', "does not use probe/udp")
        self.catch("probe/tcp/tcp.cc", '#include "base/host/fact.h"', "does not use base/host")

    def test_siblings_never_meet(self):
        self.catch("probe/tcp/tcp.cc", '#include "capture/flow/flow.h"', "probe may use base")
        self.catch("capture/flow/flow.cc", '#include "rdma/verbs/verbs.h"', "out of reach")

    def test_nothing_includes_main(self):
        self.assertEqual(len(judge(TREE | {"main.cc": "", "probe/tcp/a.cc": '#include "main.cc"\n'})),
                         1)

    def test_no_way_around(self):
        self.catch("base/sys/error.cc", "  #  include <probe/tcp/tcp.h>", "nothing else")
        self.catch("base/sys/error.cc", '#include "../../probe/tcp/tcp.h"', "from the root")
        self.catch("base/sys/error.cc", '#include "error.h"', "from the root")

    def test_reserved_headers(self):
        self.catch("probe/tcp/tcp.cc", "#include <sqlite3.h>", "base/record alone")
        self.catch("capture/flow/ip.cc", "#include <pcap.h>", "capture/source alone")
        self.catch("probe/tcp/tcp.cc", "#include <infiniband/verbs.h>", "rdma/verbs alone")
        self.catch("probe/udp/udp.cc", "#include <rdma/rdma_cma.h>", "rdma/verbs alone")

    def test_a_folder_without_arrows(self):
        self.assertIn("no arrows", judge(TREE | {"utils/misc.cc": ""})[0])


class Links(unittest.TestCase):
    def catch(self, part, line, words):
        place = f"{part}/CMakeLists.txt"
        found = judge(TREE | {place: TREE[place] + line})
        self.assertTrue(found and any(words in each for each in found), found)
        self.assertTrue(found[0].startswith(f"{place}:"), found[0])

    def test_down_the_arrows(self):
        self.assertEqual(judge(TREE), [])

    def test_against_the_arrows(self):
        self.catch("base", "chokepoint_folder(base/a USES\n  probe_tcp)", "probe/tcp is out of reach")

    def test_arrows_that_lead_back(self):
        self.catch("base", "chokepoint_folder(base/a USES base_b)\n"
                           "chokepoint_folder(base/b USES base_a)", "lead to each other")

    def test_reserved_libraries(self):
        self.catch("probe", "chokepoint_folder(probe/a LINKS SQLite::SQLite3)", "base/record alone")


class Design(unittest.TestCase):
    TREE_OF_IT = ("text\n" + arrows.BEGIN + "base/     all\n  sys/ math/ host/  facts\n"
                  "  cli/ record/  more\nprobe/  before\n  tcp/ udp/\n"
                  "capture/  during: flow/\n  source/  files\nrdma/  verbs/\n" + arrows.END)

    def test_it_names_every_folder(self):
        self.assertEqual(judge(TREE | {"docs/design.md": self.TREE_OF_IT}), [])
        old = self.TREE_OF_IT.replace("tcp/ udp/", "tcp/")
        self.assertIn("does not name probe/udp", judge(TREE | {"docs/design.md": old})[0])

    def test_it_names_no_other_folder(self):
        more = self.TREE_OF_IT.replace("tcp/ udp/", "tcp/ udp/ quic/")
        self.assertIn("probe/quic/ and no target does", judge(TREE | {"docs/design.md": more})[0])


if __name__ == "__main__":
    unittest.main()
