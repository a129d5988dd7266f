# Sourced by the scripts: where the tree is, and how they speak. Messages go to standard error, so
# that a script's output stays the output of what it runs.
# shellcheck shell=bash

# shellcheck disable=SC2034
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
script=$(basename "$0")

say() { printf '%s: %s\n' "$script" "$*" >&2; }

die() {
  say "$*"
  exit 1
}

wrong_usage() {
  say "$*; '--help' tells how it is used"
  exit 2
}

# The comment at the head of a script is its help.
help() { awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"; }

need() {
  command -v "$1" >/dev/null || die "$1 is missing: run ./scripts/setup"
}

# Enterprise Linux keeps its newer compilers beside the system's own.
use_newest_toolset() {
  local enable
  for enable in /opt/rh/gcc-toolset-{14,13,12}/enable; do
    if [[ -r $enable ]]; then
      # shellcheck disable=SC1090
      source "$enable"
      return
    fi
  done
}
