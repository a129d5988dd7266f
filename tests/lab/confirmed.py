"""A scenario whose verdict is put to the test on its hosts by `diagnose --confirm`: once the job is
over, or while it runs."""

import contextlib

from training import Player

PORT = 5210
TESTS_S = 240


class Confirmed(Player):
    """Between the end of the job and that of the fault the verdict is tested."""

    is_fault_over = False  # before the tests
    told = None  # what diagnose printed; None where it refused, with `refusal`
    refusal = None

    def watch(self, jobs):
        super().watch(jobs)
        for job in jobs.values():
            job.wait(60)
        if self.is_fault_over:
            self.fault.set(False, jobs)
        self.confirm()

    def hosts(self):
        """Of the ranks."""
        return [self.stage.hosts[name] for name in self.scenario.ranks]

    @contextlib.contextmanager
    def serving(self):
        """Servers on all hosts, as slow as the job is; yields their key."""
        key = self.folder / "key"
        key.write_text("a key of at least sixteen bytes\n")
        key.chmod(0o600)
        servers = [host.serve(["chokepoint", "serve", "--quiet", "--key-file", key], PORT)
                   for host in self.hosts()]
        for server in servers:
            self.fault.slow_down(server)
        try:
            yield key
        finally:
            for server in servers:
                server.stop()

    def confirm(self, *options):
        with self.serving() as key:
            self.confirm_with(key, self.records, *options)

    def confirm_with(self, key, records, *options):
        process = self.hosts()[0].run(
            ["chokepoint", "diagnose", records, "--confirm", "--key-file", key, "--json", *options],
            timeout=TESTS_S, status=None)
        if process.wait(0) != 0:
            self.refusal = process.stderr().strip()
            print("not tested:", self.refusal)
            return
        self.told = process.document()
        print(self.told["verdict"]["class"], self.told["confirmation"]["sentence"])
        for test in self.told["confirmation"]["tests"]:
            print(test["test"], test["says"], test["sentence"] or test["failure"])
