"""tests/vm/vm as it is typed."""

import pathlib
import subprocess

from checks import holds, same

VM = pathlib.Path(__file__).resolve().parents[1] / "vm"
SECONDS = 90
COMMAND = 'hostname; on-b sh -c "hostname; echo of b >&2; exit 4"; echo $?; echo $B; exit 3'


def by_hand(*words):
    return subprocess.run([VM, *words], capture_output=True, text=True, timeout=SECONDS,
                          stdin=subprocess.DEVNULL)


def test_a_command_runs_on_a_and_reaches_b():
    done = by_hand("sh", "-c", COMMAND)
    same((done.returncode, done.stdout, done.stderr), (3, "a\nb\n4\n10.77.0.2\n", "of b\n"),
         "status, output and errors")


def test_a_wrong_word_is_told_before_anything_boots():
    done = by_hand("--mtu", "large")
    same(done.returncode, 2, "exit status")
    holds("invalid int value" in done.stderr, done.stderr)
