"""Reads a run record: the SQLite file of one node, as docs/internals/record.md describes it.

A record may come from anybody. Its schema is held against the one of its number, column by column;
values of another type than their column's count as unknown; and rows, text and the work of a
statement are bounded by the file's size. Nothing is written beside the record: where SQLite would,
a private copy is read.
"""
import errno
import fcntl
import os
import pathlib
import re
import shutil
import sqlite3
import stat
import tempfile

SCHEMA = 4
APPLICATION = 0x43484B50  # "CHKP"

MAX_FILES = 10_000
MAX_NUMBER = 2**61
MAX_TEXT = 65_536  # characters of one text; what is behind is left out
_MIB = 1 << 20
_BATCH = 10_000  # rows taken at a time
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_COPY_AGAIN = "copy it again, together with its -wal"

# Columns by the schema that brought them. Integers, unless ':text' or ':real' says otherwise.
_TABLES = {
    "session": {1: """id role:text command:text node:text host:text boot_id:text kernel:text
        program:text start_ns start_wall_ns seen_ns end_ns exit_status shift_ns"""},
    "label": {1: "session key:text value:text"},
    "clock_anchor": {1: "session t_ns wall_ns"},
    "process": {1: """id session pid parent_pid command:text rank local_rank world_size start_ns
        end_ns exit_status"""},
    "flow": {
        1: """id session protocol:text a_address:text a_port b_address:text b_port local_end
            process interface:text start_ns end_ns handshake_seen""",
        4: "content:text job"},
    "flow_total": {1: """flow direction packets bytes payload_bytes retransmitted_packets
        retransmitted_bytes fast_retransmissions timeout_retransmissions spurious_retransmissions
        out_of_order duplicate_acks zero_windows window_full congestion_marks max_in_flight_bytes
        max_window_bytes mss_bytes window_scale rtt_ms:text"""},
    "series": {1: "id session name:text subject:text unit:text kind source:text"},
    "event": {1: "id session t_ns kind:text subject:text detail:text"},
    "flow_sample": {1: """t_ns bin_ns merged flow direction packets bytes payload_bytes
        retransmitted_packets retransmitted_bytes out_of_order duplicate_acks zero_windows
        window_full congestion_marks rtt_us min_rtt_us max_in_flight_bytes window_bytes
        min_window_bytes"""},
    "socket_sample": {1: """t_ns bin_ns merged flow direction state congestion_state mss_bytes
        cwnd_packets ssthresh_packets rtt_us rtt_variance_us min_rtt_us receive_rtt_us timeout_us
        bytes_sent bytes_acked bytes_received bytes_retransmitted retransmits lost_packets
        unacked_packets reordering reorder_seen dsack_duplicates delivered delivered_ce
        delivery_bytes_per_s pacing_bytes_per_s app_limited busy_us receive_window_limited_us
        send_buffer_limited_us unsent_bytes send_queue_bytes receive_queue_bytes send_window_bytes
        receive_space_bytes"""},
    "counter_sample": {1: "t_ns bin_ns merged series value:real peak_per_s:real"},
    "gauge_sample": {1: "t_ns bin_ns merged series value:real peak:real"},
    "step": {1: "start_ns end_ns merged number rank source samples busy_ns longest_ns"},
    "collective": {
        1: """start_ns end_ns merged number kind source rank communicator bytes busy_ns
            longest_ns""",
        2: """own_ready_ns peer_ready_ns first_data_ns last_data_ns waited_ns kept_waiting_ns
            flow""",
        3: """algorithm protocol channels peer enqueued_ns gpu_wait_ns network_wait_ns peer_wait_ns
            flush_wait_ns"""},
}


class RecordError(Exception):
    """A folder or a file that cannot be read as a run record, and why."""


class TooMuch(RecordError):
    """More than an honest record of this size has."""


def columns_of(table, schema=SCHEMA):
    """Pairs of a column's name and its type, "integer", "text" or "real", in the table's order."""
    words = [word for since, text in sorted(_TABLES[table].items()) if since <= schema
             for word in text.split()]
    return [(name, kind or "integer") for name, _, kind in (word.partition(":") for word in words)]


def tables():
    return list(_TABLES)


def record_files(folder):
    """The records of a run: a folder's files that end in .db, or the one file."""
    path = pathlib.Path(folder)
    try:
        if path.is_file():
            return [path]
        with os.scandir(path) as entries:
            names = [entry.name for entry, _ in zip(entries, range(MAX_FILES))]
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RecordError(f"{folder}: {reason}") from None
    files = sorted(path / name for name in names if name.endswith(".db"))
    if not files:
        raise RecordError(f"{folder}: holds no run record (a file that ends in .db); "
                          "'chokepoint runs' lists the runs below a folder")
    return files


def _with(path, ending):
    return path.with_name(path.name + ending)


def _is_written(path):
    """Whether a writer has it: base/record/writer_lock.h holds a lock beside it."""
    try:
        lock = os.open(_with(path, "-lock"), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    finally:
        os.close(lock)
    return False


def _size(path):
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _check_file(path):
    """SQLite would wait for a pipe, and follow whatever lies beside a record."""
    for ending in ("", "-wal", "-shm", "-journal"):
        part = _with(path, ending)
        try:
            mode = part.stat().st_mode if ending == "" else part.lstat().st_mode
        except FileNotFoundError:
            if ending == "":
                raise RecordError(f"{path}: there is no such file") from None
            continue
        except OSError as error:
            raise RecordError(f"{path}: {error.strerror}") from None
        if not stat.S_ISREG(mode):
            raise RecordError(f"{part}: no regular file")
    if _size(path) == 0:
        raise RecordError(f"{path}: empty: its writer never started writing")


def _is_cut(path):
    """Whether the file's header tells of more pages than there are:
    https://sqlite.org/fileformat.html, 1.3."""
    try:
        with open(path, "rb") as file:
            head = file.read(100)
    except OSError:
        return False
    if len(head) < 100 or not head.startswith(b"SQLite format 3\0") or head[24:28] != head[92:96]:
        return False
    page = int.from_bytes(head[16:18], "big")
    return _size(path) < int.from_bytes(head[28:32], "big") * (65536 if page == 1 else page)


def _copy_stored(source, target):
    """A file's bytes; its holes stay holes, however long they are."""
    with open(source, "rb") as file, open(target, "wb") as copy:
        end, at = os.fstat(file.fileno()).st_size, 0
        while at < end:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA)
                until = os.lseek(file.fileno(), at, os.SEEK_HOLE)
            except OSError as error:
                if error.errno != errno.ENXIO:  # nothing but a hole is left
                    raise
                break
            while at < until and (piece := os.pread(file.fileno(), min(until - at, _MIB), at)):
                at += os.pwrite(copy.fileno(), piece, at)
            if at < until:
                break  # it was cut short meanwhile
        copy.truncate(end)


def _copy(path):
    """A private copy of a record, in a folder that goes with the object."""
    size = _size(path) + _size(_with(path, "-wal"))
    try:
        folder = tempfile.TemporaryDirectory(prefix="chokepoint-")
        if shutil.disk_usage(folder.name).free < size + 64 * _MIB:
            raise RecordError(f"{path}: has to be copied to be read, and {folder.name} has no room "
                              "for it; set TMPDIR to another folder")
        to = pathlib.Path(folder.name) / "record.db"
        # The log first: what is written into the file meanwhile is then in both, not in neither.
        if _with(path, "-wal").exists():
            _copy_stored(_with(path, "-wal"), _with(to, "-wal"))
        _copy_stored(path, to)
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}") from None
    return folder, to


class Record:
    """One node's record, open for reading. One thread at a time."""

    def __init__(self, path, max_rows):
        self.path = pathlib.Path(os.path.abspath(path))
        self.size = 0  # with its log
        self._max_rows = max_rows
        self._folder = None
        self._work = 0
        self._text = 0
        _check_file(self.path)
        self._open()
        self.schema = self._check_schema()
        self._limit_statements()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._database.close()
        if self._folder is not None:
            self._folder.cleanup()

    # Which of its parts SQLite may have to write to: none, if there is no log; the index beside the
    # log, which a live writer made already; and after a kill a new one, for which a copy is taken.
    def _open(self):
        if not _with(self.path, "-wal").exists():
            try:
                self._connect(self.path, "immutable=1")
            except sqlite3.OperationalError as error:
                raise RecordError(f"{self.path}: {error}") from None
        elif _is_written(self.path):
            try:
                self._connect(self.path, "mode=ro")
            except sqlite3.OperationalError:
                self._open_copy()
        else:
            self._open_copy()

    def _open_copy(self):
        self._folder, copy = _copy(self.path)
        try:
            self._connect(copy, "mode=rw")
        except sqlite3.OperationalError as error:
            raise RecordError(f"{self.path}: {error}") from None

    def _connect(self, path, how):
        self.size = _size(path) + _size(_with(path, "-wal"))
        database = sqlite3.connect(f"{path.as_uri()}?{how}", uri=True, isolation_level=None,
                                   timeout=1, check_same_thread=False)
        try:
            self._distrust(database)
            for statement in ("PRAGMA trusted_schema=OFF", "PRAGMA cell_size_check=ON",
                              "PRAGMA mmap_size=0", "PRAGMA query_only=ON"):
                database.execute(statement).close()
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            database.close()
            raise
        except sqlite3.DatabaseError as error:
            database.close()
            raise self._damaged(error) from None
        self._database = database

    def _distrust(self, database):
        database.text_factory = self._take_text
        database.set_progress_handler(self._is_too_much_work, 100_000)
        if hasattr(database, "setlimit"):  # Python 3.11
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 64 * _MIB)
            database.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, 100_000)
            database.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, 200)
            database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        if hasattr(database, "setconfig"):  # Python 3.12
            database.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
            database.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, False)
            database.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_VIEW, False)

    def _limit_statements(self):
        """From here on rows are selected, and nothing else."""
        allowed = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}

        def authorize(action, first, second, *_):
            is_fine = action in allowed or (action == sqlite3.SQLITE_FUNCTION and
                                            second in ("typeof", "substr"))
            return sqlite3.SQLITE_OK if is_fine else sqlite3.SQLITE_DENY
        self._database.set_authorizer(authorize)

    def _is_too_much_work(self):
        self._work += 100_000
        return self._work > 10_000_000 + 4 * self.size

    def _take_text(self, text):
        self._text += len(text)
        if self._text > min(512 * _MIB, 16 * _MIB + 8 * self.size):
            raise TooMuch("more text than in any record")
        return _CONTROL.sub("\ufffd", text.decode("utf-8", "replace"))

    def _damaged(self, error):
        if "not a database" in str(error):
            return RecordError(f"{self.path}: not a run record; leave only records in the folder")
        kind = "cut short" if _is_cut(self.path) else "damaged"
        return RecordError(f"{self.path}: {kind} ({error}): {_COPY_AGAIN}; 'chokepoint export' "
                           "reads what is left")

    def _check_schema(self):
        try:
            if _is_cut(self.path) and _size(_with(self.path, "-wal")) == 0:
                raise sqlite3.DatabaseError("pages are missing")
            return self._read_schema()
        except sqlite3.DatabaseError as error:
            self.close()
            raise self._damaged(error) from None
        except RecordError:
            self.close()
            raise

    def _read_schema(self):
        def number(pragma):
            return self._database.execute(f"PRAGMA {pragma}").fetchone()[0]
        entries = self._database.execute(
            "SELECT type, name, substr(sql, 1, 100) FROM sqlite_master LIMIT 1000").fetchall()
        if not entries and number("application_id") == 0:
            raise RecordError(f"{self.path}: holds nothing yet, or its -wal is missing: "
                              f"then {_COPY_AGAIN}")
        if number("application_id") != APPLICATION:
            raise RecordError(f"{self.path}: an SQLite file, but not of chokepoint; leave only "
                              "records in the folder")
        schema = number("user_version")
        if schema > SCHEMA:
            raise RecordError(f"{self.path}: schema {schema}, and this version knows up to "
                              f"{SCHEMA}: read it with the version of chokepoint that wrote it, or "
                              "a later one")
        if schema < 1:
            raise RecordError(f"{self.path}: has the schema number {schema}, which no record has")
        for kind, name, sql in entries:
            is_table = kind == "table" and str(sql).upper().startswith("CREATE TABLE")
            if not is_table and kind != "index":
                raise RecordError(f"{self.path}: has a {kind} or a virtual table; a run record has "
                                  "tables only: do not trust this file")
        for table in _TABLES:
            found = [(row[1], row[2].lower(), row[6]) for row in
                     self._database.execute(f"PRAGMA table_xinfo({table})")]
            if found != [(name, kind, 0) for name, kind in columns_of(table, schema)]:
                raise RecordError(f"{self.path}: the table '{table}' has other columns than schema "
                                  f"{schema}: do not trust this file")
        return schema

    def read(self, table, keys=None):
        """The rows of a table, as a list of values for each column; of samples only those whose
        `series` is one of `keys`, if they are given. And what was not read, as a sentence or None.
        """
        present = set(name for name, _ in columns_of(table, self.schema))
        columns = columns_of(table)
        chosen = ", ".join(_expression(name, kind) if name in present else "NULL"
                           for name, kind in columns)
        sql = f"SELECT {chosen} FROM {table}"
        if keys is not None:
            sql += f" WHERE series IN ({', '.join(str(int(key)) for key in keys)})"
        values = [[] for _ in columns]
        return values, self._fill(values, sql, table)

    def _fill(self, values, sql, table):
        rows_left = min(self._max_rows, 1_000 + self.size // 6)
        cursor = self._database.cursor()
        try:
            self._work = 0
            cursor.execute(sql)
            while True:
                self._work = 0
                rows = cursor.fetchmany(min(_BATCH, rows_left + 1))
                if len(rows) > rows_left:
                    return f"{self.path}: {table} has more than {len(values[0])} rows: the rest " \
                           "was left out"
                if not rows:
                    return None
                rows_left -= len(rows)
                for column, more in zip(values, zip(*rows)):
                    column.extend(more)
        except sqlite3.DatabaseError as error:
            return f"{self._damaged(error)}; {table} ends after {len(values[0])} rows"
        except TooMuch as error:
            return f"{self.path}: {table} has {error}: the rest was left out"
        finally:
            cursor.close()


def _expression(name, kind):
    """A column's value, or NULL where it has another type or is out of bounds."""
    if kind == "text":
        return f"CASE WHEN typeof({name})='text' THEN substr({name}, 1, {MAX_TEXT}) END"
    if kind == "real":
        return f"CASE WHEN typeof({name}) IN ('real', 'integer') THEN 1.0 * {name} END"
    return (f"CASE WHEN typeof({name})='integer' AND {name} BETWEEN {-MAX_NUMBER} AND {MAX_NUMBER} "
            f"THEN {name} END")
