# Sourced by the tests of the packages.
# shellcheck shell=bash

skip() {
  echo "skipped: $*"
  exit 77
}

fail() {
  echo "$*"
  exit 1
}

# The one file that matches, of a package that may not have been made here.
only() {
  local found
  mapfile -t found < <(find "$1" -maxdepth 1 -name "$2")
  ((${#found[@]} > 0)) || skip "no $2 was made here"
  ((${#found[@]} == 1)) || fail "several: ${found[*]}"
  echo "${found[0]}"
}
