"""`chokepoint live` on a terminal: tmux is one that can be looked at, resized and typed into."""

import contextlib

from checks import holds, same, soon
from kernel import Failed, command

TRAIN = ["sh", "-c", "for i in $(seq 600); do echo step $i; sleep 0.1; done"]


class Screen:
    """A terminal in which a command runs and then tells its exit code."""

    def __init__(self, lab, host, columns, rows, words):
        lab.needs("tmux")
        self.socket = lab.folder / "tmux"
        script = lab.folder / "on-screen"
        script.write_text(f"#!/bin/sh\ntrap : INT\n{words}\necho code $?\nexec sleep 600\n")
        script.chmod(0o755)
        self.tmux("new-session", "-d", "-x", columns, "-y", rows, "ip", "netns", "exec",
                  host.namespace, "env", f"PATH={host.environment['PATH']}", "LC_ALL=C.UTF-8",
                  script)

    def tmux(self, *words):
        return command("tmux", "-u", "-S", self.socket, "-f", "/dev/null", *words)

    def lines(self):
        return self.tmux("capture-pane", "-p").splitlines()

    def shows(self, *texts):
        soon(lambda: all(any(text in line for line in self.lines()) for text in texts), 20,
             f"{texts} on the screen")

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", columns, "-y", rows)

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def close(self):
        with contextlib.suppress(Failed):
            self.tmux("kill-server")


@contextlib.contextmanager
def watched(lab, columns, rows, names=("a", "b")):
    """A run of some nodes in one folder, and the screen on which it is seen."""
    host = lab.host("left")
    runs = [host.start(["chokepoint", "run", "-q", "--out", lab.folder / "run", "--node", name,
                        "--", *TRAIN]) for name in names]
    for name in names:
        soon((lab.folder / "run" / f"{name}.db").exists, 20, f"a record of {name}")
    screen = Screen(lab, host, columns, rows, f"chokepoint live {lab.folder}/run --interval 0.5s")
    try:
        yield screen, runs
    finally:
        screen.close()


def is_whole(lab, lines, columns, rows):
    """The title in the first row, the keys in the last, whatever the size."""
    return (len(lines) == rows and lines[0].startswith(str(lab.folder)[:columns - 1])
            and lines[-1].startswith("q quit"))


def test_a_screen_of_80_by_24_shows_all_nodes_and_ends_by_a_key(lab):
    with watched(lab, 80, 24) as (screen, _):
        screen.shows("2 of 2 nodes run", "by output", "q quit")
        lines = screen.lines()
        same(len(lines), 24, "rows")
        holds(lines[0].startswith(str(lab.folder)), lines)
        named = [line.split()[0] for line in lines if line.split()[:1] in (["a"], ["b"])]
        same(named, ["a", "b"], lines)
        screen.keys("q")
        screen.shows("code 0")
        holds(not any("q quit" in line for line in screen.lines()), "the first screen is back")


def test_the_view_follows_the_size_of_its_window(lab):
    with watched(lab, 80, 24) as (screen, _):
        screen.shows("2 of 2 nodes run", "by output")
        for columns, rows in ((120, 40), (50, 8), (30, 4), (80, 24)):
            screen.resize(columns, rows)
            soon(lambda size=(columns, rows): is_whole(lab, screen.lines(), *size), 10,
                 f"{columns} x {rows}")


def test_a_paused_view_stands_still(lab):
    with watched(lab, 80, 24) as (screen, _):
        screen.shows("2 of 2 nodes run", "by output")
        screen.keys("Space")
        screen.shows("paused")
        before = screen.lines()
        screen.tmux("run-shell", "sleep 2")
        same(screen.lines(), before, "the paused view")
        screen.keys("Space")
        soon(lambda: screen.lines()[4:] != before[4:], 10, "new figures")


def test_more_nodes_than_rows_are_scrolled(lab):
    names = [f"n{number}" for number in range(6)]
    with watched(lab, 80, 9, names) as (screen, _):
        screen.shows("nodes 1-", " of 6", "by output")
        holds(not any(line.split()[:1] == ["n5"] for line in screen.lines()), screen.lines())
        screen.keys("Down")
        screen.shows("nodes 2-")
        for _ in range(8):
            screen.keys("Down")
        screen.shows("-6 of 6")
        holds(any(line.split()[:1] == ["n5"] for line in screen.lines()), screen.lines())


def test_ctrl_c_leaves_the_verdict_and_the_terminal_as_it_was(lab):
    with watched(lab, 80, 24) as (screen, _):
        screen.shows("2 of 2 nodes run", "by output")
        screen.keys("C-c")
        screen.shows("code 130", "confidence")
        screen.keys("x")
        screen.shows("x")  # typed letters are echoed again


def test_it_ends_with_the_run_and_names_a_node_whose_watch_was_killed(lab):
    with watched(lab, 80, 24) as (screen, runs):
        screen.shows("2 of 2 nodes run", "by output")
        command("pkill", "-KILL", "-f", "chokepoint.*--node b ")
        screen.shows("1 of 2 nodes run", "cut off")
        runs[0].signal(2)
        screen.shows("code 0", "confidence")
