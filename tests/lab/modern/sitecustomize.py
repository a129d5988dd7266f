"""Found by Python as it starts, in the chroot that tests/lab/modern/make makes: Debian's PyTorch of
today is built without libuv, by which its TCPStore listens unless it is told not to, and torchrun has
no word for that."""

import importlib.abc
import importlib.util
import sys


def without_libuv(store):
    made = store.__init__

    def __init__(self, *words, **named):
        made(self, *words, **{**named, "use_libuv": False})

    store.__init__ = __init__


class Finder(importlib.abc.MetaPathFinder):
    """Changes the class once torch.distributed has been imported, and before it is used."""

    def find_spec(self, name, path, target=None):
        if name != "torch.distributed":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            without_libuv(module.TCPStore)

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Finder())
