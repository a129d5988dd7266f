"""A play as one file: a tar, compressed by xz, of truth.json, records/*.db and early/*.db. Twins
are their truth.json alone, compressed likewise.

What is read may be anything: every size is bounded before it is used, and nothing is written but
regular files of the names above.
"""

import io
import json
import lzma
import math
import re
import tarfile

from rows import Refused

TRUTH = "truth.json"
MEMBER = re.compile(r"truth\.json|(records|early)/[A-Za-z0-9][A-Za-z0-9._-]{0,63}\.db")
MOST_PACKED_BYTES = 4 << 20
MOST_BYTES = 64 << 20  # of a play, unpacked
MOST_FILES = 64
MOST_MEMORY_BYTES = 256 << 20  # of the decompressor; what compressed() writes needs 65 MiB
# What tarfile raises of input that was made to break it, beside its own.
BROKEN = (lzma.LZMAError, tarfile.TarError, EOFError, OverflowError, RecursionError, ValueError)


def compressed(data):
    return lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)


def decompressed(data):
    decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_MEMORY_BYTES)
    found = decoder.decompress(data, max_length=MOST_BYTES + 1)
    if len(found) > MOST_BYTES or not decoder.eof or decoder.unused_data:
        raise ValueError("too large, cut off, or more than one stream")
    return found


def bytes_of(file):
    with open(file, "rb") as opened:
        data = opened.read(MOST_PACKED_BYTES + 1)
    if len(data) > MOST_PACKED_BYTES:
        raise Refused(f"{file}: more than {MOST_PACKED_BYTES:,} bytes")
    return data


def packed(files):
    """Of {name: bytes}; the same files are the same archive."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return compressed(whole.getvalue())


def unpacked(data):
    """{name: bytes}"""
    try:
        with tarfile.open(fileobj=io.BytesIO(decompressed(data)), mode="r:") as archive:
            files = members(archive)
    except BROKEN as error:
        raise Refused(f"no play: {error!r}"[:200]) from error
    if TRUTH not in files or not any(name.startswith("records/") for name in files):
        raise Refused("no play: no truth, or no records")
    return files


def members(archive):
    files = {}
    for member in archive:
        if not member.isreg() or member.issparse() or not MEMBER.fullmatch(member.name):
            raise Refused(f"no play: it holds {member.name!r}"[:200])
        if member.name in files or len(files) == MOST_FILES:
            raise Refused("no play: a file twice, or too many")
        files[member.name] = archive.extractfile(member).read()
    return files


def truth_of(text):
    """What a truth.json says, as far as it must be there to be judged by."""
    try:
        document = json.loads(text)
        is_one = (isinstance(document["truth"]["class"], str) and
                  all(math.isfinite(ms) for ms in document["steps_ms"]))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise Refused(f"no truth: {error!r}"[:200]) from error
    if not is_one:
        raise Refused("no truth: a class and steps that can be counted are missing")
    return document


def text_of(document):
    """The same document is the same text."""
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
