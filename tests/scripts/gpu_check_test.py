#!/usr/bin/env python3
"""usage: gpu_check_test.py CUDA NVML NCCL CHOKEPOINT

scripts/gpu-check without a GPU, and with made-up drivers (CUDA, NVML), PyTorch and answers.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "scripts/gpu"))

import outcome  # noqa: E402
import programs  # noqa: E402

CUDA, NVML, NCCL, CHOKEPOINT = (sys.argv.pop(1) for _ in range(4))

# PyTorch's part, by what it is asked to run.
PYTHON = """
import json, os, pathlib, sys, time
name = pathlib.Path(sys.argv[1]).name
if name == "torch_copies.py":
    time.sleep(float(os.environ.get("COPYING_S", 0)))
    pathlib.Path(__file__).with_name("busy").touch()
    time.sleep(4 * float(os.environ.get("COPYING_S", 0)))
    print(json.dumps({way + "_mbps": 400e3 for way in ("host_to_device", "device_to_host", "both_ways")}))
elif name == "torch_load.py":
    time.sleep(3)
    print(json.dumps({"each_way_bytes": 1e9, "seconds": 3}))
elif name == "torch_train.py":
    print('{"median_ms": 100}' if os.environ["NCCL_HOSTID"].endswith("0") else "")
elif os.environ.get("NO_TORCH"):
    sys.exit("ModuleNotFoundError: No module named 'torch'")
else:
    print(json.dumps({"torch": "2.11", "cuda": "13.0", "nccl": "2.28.9", "gpu": "H200", "gpus": 1,
                      "nccl_library": os.environ.get("TORCHS_NCCL")}))
"""

# chokepoint's part; says of a copy what $SPEED says, of a collective what its ranks are.
ANSWERS = """
import json, os, subprocess, sys
words = sys.argv[1:]
if words[:2] == ["probe", "pcie"]:
    speed = float(os.environ.get("SPEED", 400e3))
    print(json.dumps({"devices": [{"kind": "nic"}, {"kind": "gpu", "link": {}, "ceiling_mbps": 5e5,
                      "data_errors": json.loads(os.environ.get("CHANGED", "[]")),
                      "host_to_device_mbps": speed, "device_to_host_mbps": speed,
                      "both_ways_mbps": speed}]}))
elif words[:2] == ["probe", "collective"]:
    assert os.environ["NCCL_HOSTID"] == "gpu-check-" + os.environ["RANK"]
    assert ("NCCL_DEBUG_FILE" in os.environ) == (os.environ["WORLD_SIZE"] != "2")
    assert words[words.index("--backend") + 1] == "nccl"
    if os.environ["RANK"] == os.environ.get("BAD_RANK"):
        sys.exit("chokepoint: probe collective: no such NCCL")
    if os.environ["RANK"] == "0":
        if os.environ.get("BAD_RANK"):
            __import__("time").sleep(60)
        print(json.dumps({"ranks": int(os.environ["WORLD_SIZE"]), "transport": "socket",
                          "sizes": [{"checked": not os.environ.get("SPOILT"), "busbw_mbps": 9e3}]}))
elif words[0] == "run":
    sys.exit(subprocess.run(words[words.index("--") + 1:]).returncode)
elif words == ["--version"]:
    print("chokepoint 9.9")
elif words[0] == "doctor":
    print(json.dumps({"schema": "chokepoint.doctor/1", "verdict": "PASS"}))
    sys.exit(3)
"""


# An idle link is slow.
SMI = """
import pathlib
print("5, 16" if pathlib.Path(__file__).with_name("busy").exists() else "1, 16")
"""


class GpuCheck(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"
        self.program("python3", PYTHON)
        self.program("chokepoint", ANSWERS)
        self.link("libnvidia-ml.so.1", NVML)
        self.environment = {"CHOKEPOINT_CUDA": CUDA, "LD_LIBRARY_PATH": str(self.folder),
                            "PATH": f"{self.folder}:{os.environ['PATH']}"}

    def program(self, name, text):
        file = self.folder / name
        file.write_text(f"#!{sys.executable}\n{text}")
        file.chmod(0o755)

    def link(self, name, file):
        (self.folder / name).symlink_to(file)

    def check(self, *names, chokepoint=None, **environment):
        only = [word for name in names for word in ("--only", name)]
        return subprocess.run(
            [sys.executable, TREE / "scripts/gpu-check", "--out", self.out, *only,
             "--chokepoint", chokepoint or self.folder / "chokepoint"],
            capture_output=True, text=True, check=False,
            env={**os.environ, **self.environment, **environment})

    def test_without_a_gpu_all_skip_and_say_why(self):
        done = self.check(CHOKEPOINT_CUDA="libno-such-driver.so")
        lines = done.stdout.splitlines()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(len(lines), 10)
        for line in lines[:-1]:
            self.assertRegex(line, r"^SKIP  \S+ +no GPU: libno-such-driver.so is not there$")
        self.assertEqual(lines[-1], f"0 passed, 0 failed, {len(lines) - 1} skipped")

    def test_what_there_is_can_be_listed_and_chosen(self):
        listed = subprocess.run([sys.executable, TREE / "scripts/gpu-check", "--list"],
                                capture_output=True, text=True, check=True).stdout
        names = [line.split()[0] for line in listed.splitlines()]
        self.assertEqual(len(names), len(set(names)))
        wrong = self.check("no.such")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("'no.such'", wrong.stderr)

    def test_versions_are_told(self):
        done = self.check("machine")
        self.assertRegex(done.stdout, r"PASS  machine.facts .*1 × H200.*NCCL 2.28.9.*chokepoint 9.9")

    def test_without_pytorch_a_check_skips(self):
        done = self.check("pcie.copies", NO_TORCH="1")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"SKIP  pcie.copies .*No module named 'torch'")

    def test_speeds_that_agree_pass_and_others_fail(self):
        self.assertIn("PASS  pcie.copies", self.check("pcie.copies").stdout)
        done = self.check("pcie.copies", SPEED="380e3")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"FAIL  pcie.copies .*47.50 GB/s, ratio 0.950")
        found = json.loads((self.out / "results.json").read_text())
        self.assertEqual(found[0]["figures"]["host_to_device_mbps"]["chokepoint"], [380e3] * 3)
        with tarfile.open(self.out / "logs.tar.gz") as logs:
            self.assertIn("pcie.copies/probe-0.out", logs.getnames())

    def test_data_that_change_on_the_way_fail(self):
        done = self.check("pcie.copies", CHANGED='["byte 7 differs"]')
        self.assertRegex(done.stdout, r"FAIL  pcie.copies .*byte 7 differs")

    def test_ranks_are_hosts_of_their_own_and_their_data_count(self):
        self.assertRegex(self.check("nccl.loopback").stdout, r"PASS .*4 ranks busbw 9.00 Gb/s.*2 ranks busbw")
        self.assertIn("other data", self.check("nccl.loopback", SPOILT="1").stdout)

    def test_pytorchs_nccl_is_found_where_no_loader_looks(self):
        self.link("libcuda.so.1", CUDA)
        done = self.check("nccl.loopback", chokepoint=CHOKEPOINT, TORCHS_NCCL=NCCL,
                          FAKE_NCCL=str(self.folder), FAKE_NCCL_FAILS="init")
        self.assertRegex(done.stdout, r"FAIL  nccl.loopback .*socket progress: connection closed")

    def test_a_link_that_rises_late_is_waited_for(self):
        self.program("nvidia-smi", SMI)
        done = self.check("pcie.link", COPYING_S="1.5")
        self.assertRegex(done.stdout, r"the driver under load: 32 GT/s x16")

    def test_a_driver_that_tells_of_no_link_is_no_failure(self):
        self.program("nvidia-smi", "print('[N/A], [N/A]')")
        self.assertRegex(self.check("pcie.link").stdout, r"SKIP  pcie.link .*of no link: \[N/A\]")

    def test_a_rank_that_fails_is_the_one_that_is_told_of(self):
        began = time.monotonic()
        done = self.check("nccl.loopback", BAD_RANK="1")
        self.assertRegex(done.stdout, r"FAIL .*ranks-4-1 ended with 1: .*no such NCCL")
        self.assertLess(time.monotonic() - began, 30)

    def test_where_no_host_can_be_made_its_checks_skip(self):
        done = self.check("nccl.veth", PATH=str(self.folder))
        self.assertEqual(done.returncode, 0)
        self.assertEqual(len(re.findall(r"SKIP  nccl.veth-\S+ +namespaces need", done.stdout)), 2)

    def test_watching_is_held_against_not_watching(self):
        self.assertRegex(self.check("train.overhead").stdout,
                         r"PASS  train.overhead +\+0.00 % of a step of 100.0 ms")

    def test_counters_come_from_the_record_of_a_run(self):
        done = self.check("counters.load", "counters.throttling", "counters.nvlink",
                          chokepoint=CHOKEPOINT)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"utilization_percent 97; clock_mhz 1200; max_clock_mhz 1980")
        self.assertRegex(done.stdout, r"PASS  counters.throttling .*power-cap")
        self.assertRegex(done.stdout, r"PASS  counters.nvlink +nvlink_active 1")

    def test_a_tarball_is_unpacked_and_used(self):
        (self.folder / "t/chokepoint-9/bin").mkdir(parents=True)
        (self.folder / "chokepoint").rename(self.folder / "t/chokepoint-9/bin/chokepoint")
        with tarfile.open(self.folder / "c.tar.gz", "w:gz") as archive:
            archive.add(self.folder / "t/chokepoint-9", "chokepoint-9")
        done = subprocess.run(
            [sys.executable, TREE / "scripts/gpu-check", "--out", self.out, "--only", "pcie.copies",
             "--tarball", self.folder / "c.tar.gz"],
            capture_output=True, text=True, check=False, env={**os.environ, **self.environment})
        self.assertIn("1 passed, 0 failed, 0 skipped", done.stdout, done.stderr)


class Programs(unittest.TestCase):
    def test_what_takes_too_long_is_ended_with_all_it_started(self):
        with tempfile.TemporaryDirectory() as folder:
            program = programs.Program(
                pathlib.Path(folder), "slow",
                ["bash", "-c", "trap '' TERM; setsid sleep 1234 & echo $!; wait"])
            with self.assertRaisesRegex(outcome.Failed, "slow took more than 1 s"):
                program.wait(1)
            child = int(re.search(r"\d+", program.output.read_text()).group())
        for _ in range(100):
            try:
                state = pathlib.Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                return
            if state == "Z":
                return
            time.sleep(0.02)
        self.fail(f"{child} goes on")

    def test_what_is_no_document_fails(self):
        with self.assertRaisesRegex(outcome.Failed, "probe printed no JSON"):
            programs.document("oops", "probe")


if __name__ == "__main__":
    unittest.main()
