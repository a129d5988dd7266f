"""python -m chokepoint …: the command that was installed with this package, or the one in PATH."""
import os
import sys

from chokepoint.program import NOT_INSTALLED, find


def main():
    found = find()
    if not found:
        sys.exit(f"chokepoint: {NOT_INSTALLED}")
    os.execv(found, [found, *sys.argv[1:]])


if __name__ == "__main__":
    main()
