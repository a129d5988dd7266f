"""A server of PostgreSQL for tests, in a temporary folder, on a Unix socket alone; by nobody where
this process is root, which the server refuses. postgres_server.h is the same for C++.

    server = PostgresServer()
    server.start()
    server.make_history()
    server.run("CREATE ROLE gpu1 LOGIN IN ROLE chokepoint_node")
    subprocess.run([program, "doctor", "--history", server.url("gpu1")])
    server.remove()
"""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

PACKAGED = pathlib.Path(__file__).resolve().parents[3] / "packaging" / "postgresql"
NOBODY = 65534
PATIENCE_S = 60
DATABASE = "chokepoint"


def programs():
    """Where the newest server's are, which Debian keeps out of PATH; None if missing."""
    folders = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"),
                     key=lambda folder: int(folder.parent.name))
    folders.insert(0, pathlib.Path("/usr/bin"))
    return next((folder for folder in reversed(folders)
                 if (folder / "initdb").exists() and (folder / "postgres").exists()), None)


def as_nobody(*words):
    if os.geteuid() != 0:
        return words
    return ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *words)


class PostgresServer:
    def __init__(self):
        self.programs = programs()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="chokepoint-postgresql-"))
        if os.geteuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)
        self.process = None
        words = ("-D", self.folder / "data", "-U", "owner", "-A", "trust", "-E", "UTF8", "--locale=C",
                 "--no-sync", "--no-instructions")
        subprocess.run(as_nobody(self.programs / "initdb", *words), check=True,
                       stdout=subprocess.DEVNULL, cwd=self.folder)

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        log = self.folder / "log"
        with open(log, "ab") as file:
            self.process = subprocess.Popen(
                as_nobody(self.programs / "postgres", "-D", self.folder / "data", "-k", self.folder,
                          "-c", "listen_addresses=", "-c", "fsync=off"),
                stdout=file, stderr=file, cwd=self.folder)
        until = time.monotonic() + PATIENCE_S
        while self.sql("SELECT 1", "postgres", check=False).returncode != 0:
            if time.monotonic() > until or self.process.poll() is not None:
                raise AssertionError(f"the server does not answer: {log.read_text()}")
            time.sleep(0.05)

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGINT)  # ends its sessions
            self.process.wait(PATIENCE_S)
            self.process = None

    def make_history(self):
        """As an administrator does by docs/guide/history.md."""
        self.run(f"CREATE DATABASE {DATABASE}", "postgres")
        for script in ("schema.sql", "roles.sql"):
            self.psql("-1", "-f", PACKAGED / script)

    def url(self, user):
        return f"postgresql:///{DATABASE}?host={self.folder}&user={user}"

    def psql(self, *words, database=DATABASE, user="owner", check=True):
        done = subprocess.run(
            ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-U", user,
             "-d", database, *words],
            check=False, capture_output=True, text=True, timeout=PATIENCE_S)
        if check and done.returncode != 0:
            raise AssertionError(f"psql {words}: {done.stderr}")
        return done

    def sql(self, statement, database=DATABASE, user="owner", check=True):
        return self.psql("-c", statement, database=database, user=user, check=check)

    def run(self, statement, database=DATABASE, user="owner"):
        """What it answers, a row a line and '|' between columns."""
        return self.sql(statement, database, user).stdout
