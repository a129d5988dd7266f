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
