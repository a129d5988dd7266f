"""The corpus as it lies in a folder: NAME.tar.xz for each play, twins/DIGEST.json.xz for each
healthy twin, however many plays have it, and index.tsv, which lists the plays."""

import contextlib
import dataclasses
import hashlib
import pathlib
import re
import tempfile

import archive
import recordings
import rows
from judging import EARLY
from rows import Refused

COLUMNS = ("name", "kind", "shape", "class", "set", "twin", "bytes", "sha256")
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
DIGEST = re.compile(r"[0-9a-f]{12}")
NONE = "-"
DRAWN = re.compile(r"draw-(\d+)-\d+-([a-z_]+)(-.*)?")


@dataclasses.dataclass(frozen=True)
class Play:
    name: str
    kind: str  # of its fault
    shape: str  # of its job
    true: str  # class
    set: str  # the seed it was drawn by
    twin: str  # digest of its twin's truth
    bytes: int
    sha256: str

    def line(self):
        return {**dataclasses.asdict(self), "class": self.true}


def play_of(line):
    if not NAME.fullmatch(line["name"]) or not line["bytes"].isdigit() or not (
            line["twin"] == NONE or DIGEST.fullmatch(line["twin"])):
        raise Refused(f"index.tsv: no play: {line}")
    return Play(line["name"], line["kind"], line["shape"], line["class"], line["set"],
                line["twin"], int(line["bytes"]), line["sha256"])


def kind_of(recording):
    """As its draw names it; of other plays, the kind of the fault."""
    drawn = DRAWN.fullmatch(recording.name)
    return drawn[2] if drawn else recording.document.get("fault", {}).get("kind", "healthy")


def set_of(recording):
    drawn = DRAWN.fullmatch(recording.name)
    return drawn[1] if drawn else NONE


def shape_of(recording):
    return recording.document.get("job", {}).get("shape", "unknown")


def digest_of(data):
    return hashlib.sha256(data).hexdigest()


class Corpus:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.index = self.folder / "index.tsv"

    def plays(self):
        return [play_of(line) for line in rows.read(self.index, COLUMNS)]

    def file_of(self, name):
        return self.folder / f"{name}.tar.xz"

    def twin_file(self, digest):
        return self.folder / "twins" / f"{digest}.json.xz"

    def add(self, recording):
        """Stored, and listed in the index, which is in the order of names."""
        if not NAME.fullmatch(recording.name):
            raise Refused(f"no name of a play: {recording.name!r}")
        data = archive.packed(files_of(recording))
        archive.unpacked(data)  # or it could not be read
        if len(data) > archive.MOST_PACKED_BYTES:
            raise Refused(f"{recording.name}: {len(data):,} bytes")
        self.file_of(recording.name).write_bytes(data)
        play = Play(recording.name, kind_of(recording), shape_of(recording),
                    recording.truth["class"], set_of(recording), self.add_twin(recording.twin),
                    len(data), digest_of(data))
        listed = {**{each.name: each for each in self.plays()}, play.name: play}
        rows.write(self.index, COLUMNS, [listed[name].line() for name in sorted(listed)])
        return play

    def drop(self, name):
        """Its twin, too, where no other play has it."""
        listed = {each.name: each for each in self.plays()}
        if name not in listed:
            raise Refused(f"no such play is stored: {name}")
        dropped = listed.pop(name)
        rows.write(self.index, COLUMNS, [listed[name].line() for name in sorted(listed)])
        self.file_of(name).unlink()
        if dropped.twin != NONE and all(each.twin != dropped.twin for each in listed.values()):
            self.twin_file(dropped.twin).unlink()

    def add_twin(self, twin):
        if twin is None:
            return NONE
        text = archive.text_of(twin.document)
        digest = digest_of(text)[:12]
        self.twin_file(digest).parent.mkdir(exist_ok=True)
        self.twin_file(digest).write_bytes(archive.compressed(text))
        return digest

    @contextlib.contextmanager
    def opened(self, play):
        """A recording to be judged, in a folder of its own."""
        data = archive.bytes_of(self.file_of(play.name))
        if digest_of(data) != play.sha256:
            raise Refused(f"{play.name}: not the file that index.tsv lists")
        files = archive.unpacked(data)
        with tempfile.TemporaryDirectory(prefix="corpus-") as name:
            folder = pathlib.Path(name)
            for member, content in files.items():
                (folder / member).parent.mkdir(exist_ok=True)
                (folder / member).write_bytes(content)
            yield recordings.Recording(folder, play.name,
                                       archive.truth_of(files[archive.TRUTH]), self.twin(play))

    def twin(self, play):
        if play.twin == NONE:
            return None
        file = self.twin_file(play.twin)
        try:
            text = archive.decompressed(archive.bytes_of(file))
        except archive.BROKEN as error:
            raise Refused(f"{file}: {error!r}"[:200]) from error
        if digest_of(text)[:12] != play.twin:
            raise Refused(f"{file}: not the twin of {play.name}")
        return recordings.Recording(self.folder, f"{play.name}.twin", archive.truth_of(text))


def files_of(recording):
    """What is stored of a play. Where its twin lay is of no use."""
    truth = {word: value for word, value in recording.document.items() if word != "twin"}
    return {archive.TRUTH: archive.text_of(truth),
            **{f"{name}/{file.name}": file.read_bytes() for name in ("records", EARLY)
               for file in sorted((recording.folder / name).glob("*.db"))}}
