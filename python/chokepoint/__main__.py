"""python -m chokepoint …: the command that was installed with this package, or the one in PATH."""
import os
import shutil
import sys
import sysconfig


def program():
    """Beside this Python's own commands first: another one in PATH may be of another version."""
    schemes = (sysconfig.get_default_scheme() if sys.version_info >= (3, 10) else None,
               f"{os.name}_user")
    folders = [sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts")
               for scheme in schemes]
    return shutil.which("chokepoint", path=os.pathsep.join(folders)) or shutil.which("chokepoint")


def main():
    found = program()
    if not found:
        sys.exit("chokepoint: the command is not installed: this is the Python package alone; "
                 "install the wheel of a release, or put chokepoint in your PATH")
    os.execv(found, [found, *sys.argv[1:]])


if __name__ == "__main__":
    main()
