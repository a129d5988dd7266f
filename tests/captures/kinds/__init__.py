"""The captures: each function of a file here makes one, and its docstring says what happened."""

import importlib
import inspect
import pathlib

from tape import Tape

NAMES = sorted(path.stem for path in pathlib.Path(__file__).parent.glob("[a-z]*.py"))


def functions(name):
    """Those that take a tape alone, in the order in which they are written."""
    module = importlib.import_module(f"kinds.{name}")
    return [value for value in vars(module).values()
            if inspect.isfunction(value) and value.__module__ == module.__name__
            and list(inspect.signature(value).parameters) == ["tape"]]


def made(function):
    """The tape, with everything that happens recorded."""
    tape = Tape()
    function(tape)
    tape.record()
    return tape
