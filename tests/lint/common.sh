# Sourced by the checks: where the tree is, and how one says that it cannot be done here.
# shellcheck shell=bash

# shellcheck disable=SC2034
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

skip() {
  echo "skipped: $*"
  exit 77
}

need() {
  command -v "$1" >/dev/null || skip "$1 is missing: ./scripts/setup installs it"
}

# The tree's own files that match the patterns, ended by NUL: what git knows, new files included.
tree_files() {
  git -C "$root" ls-files -z --cached --others --exclude-standard -- "$@" |
    (cd "$root" && while IFS= read -r -d '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done)
}

# Its scripts, ended by NUL: by the ending of their names, or by the interpreter that their first
# line names. One grep reads them all: two processes a file take a minute.
tree_scripts() {
  local ending=$1 interpreter=$2
  {
    tree_files "*.$ending"
    tree_files "*" | (
      cd "$root" || exit
      LC_ALL=C xargs -0 grep -lZazP "\\A#![^\\n]*\\b$interpreter\\b" || [[ $? == 123 ]]
    )
  } | sort -zu
}
