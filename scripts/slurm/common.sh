# shellcheck shell=bash disable=SC2034 # its settings are for those who source it
# What the scripts beside this share. Settings are read from $CHOKEPOINT_SLURM, or
# /etc/chokepoint/slurm, a file of bash, where there is one:
#
#   chokepoint=/opt/chokepoint/bin/chokepoint   where it is not in PATH
#   preflight=(--key-file /etc/chokepoint.key)  how the prolog's preflight reaches the agents
#   preflight_seconds=60                        and how long it may take
#   records=runs/%j                             where job %j leaves records, from its own folder

chokepoint=chokepoint
preflight=(--key-file /etc/chokepoint.key)
preflight_seconds=60
records='chokepoint-runs/%j'
# Slurm gives its scripts no PATH.
export PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

settings=${CHOKEPOINT_SLURM:-/etc/chokepoint/slurm}
# shellcheck source=/dev/null
[[ ! -r $settings ]] || source "$settings"

# Reasons of these scripts begin so, and no other's do.
ours="chokepoint: "

tell() {
  logger -t "chokepoint-${0##*/}" -- "$*" 2>/dev/null || true
  printf '%s: %s\n' "${0##*/}" "$*" >&2
}

# One value of "State=IDLE+DRAIN Reason=…", as 'scontrol show node' has them, a line each.
value_of() {
  sed -n "s/^ *\(.* \)\?$1=\([^ ]*\).*/\2/p" | head -n 1
}

# The reason reaches to the end of its line but for who gave it, and when.
reason_of() {
  sed -n 's/^ *Reason=\(.*\) \[[^]]*\]$/\1/p' | head -n 1
}

# A reason that people or other scripts gave stays, and what a preflight saw is not made little of by
# what doctor sees on one host.
drain() {
  local node=$1 reason=$2 known state before
  known=$(scontrol show node "$node") || { tell "scontrol does not know $node" && return 1; }
  state=$(value_of State <<<"$known")
  before=$(reason_of <<<"$known")
  if [[ $state == *DRAIN* ]]; then
    [[ $before == "$ours"* && $before != "$ours$reason" ]] || return 0
    [[ $before != "${ours}preflight: "* || $reason == "preflight: "* ]] || return 0
  fi
  scontrol update "NodeName=$node" State=DRAIN "Reason=$ours$reason" &&
    tell "$node is drained: $reason"
}
