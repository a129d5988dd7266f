#!/usr/bin/env python3
"""usage: commands_page.py [--check] CHOKEPOINT FILE

Writes docs/reference/commands.md: what 'CHOKEPOINT --help' and the help of each command say. With
--check nothing is written, and the exit code is 1 where FILE is not what the program says.
"""
import difflib
import pathlib
import re
import subprocess
import sys

MADE = "<!-- Made by scripts/reference from the program's own help: edit that. -->"
HEAD = f"""# All commands
{MADE}

What each command does, with all options and examples, as `chokepoint COMMAND --help` prints it. Installed packages have the same as man pages (`man chokepoint-run`).
"""
# As the overview lists a command: indented, parted from its purpose by two spaces or more.
COMMAND = re.compile(r"^  (?!chokepoint\b)([a-z][a-z-]*(?: [a-z][a-z-]*)?)  +\S", re.MULTILINE)


def help_of(program, *command):
    # Without variables: help is as wide as COLUMNS says.
    ran = subprocess.run([program, *command, "--help"], stdout=subprocess.PIPE, text=True,
                         env={"PATH": "/usr/bin:/bin"}, check=True)
    return ran.stdout.rstrip("\n")


def page_of(program):
    overview = help_of(program)
    commands = COMMAND.findall(overview)
    if not commands:
        sys.exit("commands_page: the overview lists no command")
    lines = [HEAD, "```", overview, "```"]
    for command in commands:
        lines += ["", f"## chokepoint {command}", "```", help_of(program, *command.split()), "```"]
    return "\n".join(lines) + "\n"


def main():
    words = [word for word in sys.argv[1:] if word != "--check"]
    if len(words) != 2:
        sys.exit(__doc__)
    program, file = pathlib.Path(words[0]).resolve(), pathlib.Path(words[1])
    page = page_of(program)
    if "--check" not in sys.argv[1:]:
        file.write_text(page)
        return 0
    found = file.read_text() if file.exists() else ""
    if found == page:
        return 0
    print("".join(difflib.unified_diff(found.splitlines(True), page.splitlines(True), str(file),
                                       str(program))))
    print(f"{file} is not what the program's help says: run scripts/reference")
    return 1


if __name__ == "__main__":
    sys.exit(main())
