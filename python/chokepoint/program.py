"""The command `chokepoint`, started from Python: where it is, and what it prints.

A child is bounded in time, and so is what is read of it. It has none of the variables that say which
rank of a job this process is: `chokepoint run` would take it for one.
"""
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from chokepoint.marking import RANK_VARIABLES, VARIABLE

NOT_INSTALLED = ("the command is not installed: this is the Python package alone; install the "
                 "wheel of a release, or put chokepoint in your PATH")
MAX_SECONDS = 600
_MAX_OUTPUT = 64 << 20
_MAX_COMPLAINT = 4_096


class ProgramError(RuntimeError):
    """The command is missing, failed, or took too long."""


def find():
    """Beside this Python's own commands first: another one in PATH may be of another version."""
    schemes = (sysconfig.get_default_scheme() if sys.version_info >= (3, 10) else None,
               f"{os.name}_user")
    folders = [sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts")
               for scheme in schemes]
    return shutil.which("chokepoint", path=os.pathsep.join(folders)) or shutil.which("chokepoint")


def found(program=None):
    """The one that was named, or the one that is installed."""
    program = program or find()
    if not program:
        raise ProgramError(f"chokepoint: {NOT_INSTALLED}")
    return os.fspath(program)


def as_path(folder):
    """As an argument: a folder may begin with '-'."""
    folder = os.fspath(folder)
    return folder if folder.startswith("/") else "./" + folder


def _environment():
    return {name: value for name, value in os.environ.items()
            if name not in RANK_VARIABLES and name != VARIABLE}


def output_of(program, *arguments, seconds=MAX_SECONDS, before=()):
    """Its exit status, and what it printed on standard output and standard error.

    `before`: words in front of the command, such as those of nice.
    """
    # From 3.10 on Python starts children by vfork. Before, it does so only where it closes no
    # files; fork would copy the page tables of a job that may have all of a host's memory.
    try:
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complained:
            code = subprocess.run([*before, program, *arguments], stdout=said, stderr=complained,
                                  stdin=subprocess.DEVNULL, timeout=seconds, env=_environment(),
                                  close_fds=sys.version_info >= (3, 10)).returncode
            said.seek(0)
            complained.seek(0)
            return code, said.read(_MAX_OUTPUT), complained.read(_MAX_COMPLAINT)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise ProgramError(f"{program}: {error}") from None


def failure_of(command, code, complaint):
    reason = complaint.decode("utf-8", "replace").strip()
    return ProgramError(f"chokepoint {command} ended with {code}: {ascii(reason)[1:-1]}")


def document_of(program, command, *arguments, **how):
    """The JSON document that a command prints, whatever its exit status."""
    code, said, complained = output_of(program, command, *arguments, **how)
    try:
        document = json.loads(said or "null")
    except (ValueError, RecursionError) as error:
        raise ProgramError(f"{program}: {error}") from None
    if not isinstance(document, dict):
        raise failure_of(command, code, complained)
    return document
