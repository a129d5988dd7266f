"""What can be wrong in a scenario, by the names its file uses.

One fault at a time, from before the job starts until it ends, or from `from_s` until `until_s`
after its first step.
"""

import host_faults
import job_faults
import link_faults
import stall_faults
import storage_faults
from fault import Fault
from kernel import Failed

KINDS = {
    "link": link_faults.LinkChanged,
    "ipv4-slow": link_faults.Ipv4Slow,
    "cut": link_faults.Cut,
    "flap": link_faults.Flap,
    "slot": link_faults.Slot,
    "competing": link_faults.Competing,
    "sysctls": host_faults.Sysctls,
    "processor-taken": host_faults.ProcessorTaken,
    "processor-quota": host_faults.ProcessorQuota,
    "job": job_faults.JobOptions,
    "interface": job_faults.OtherInterface,
    "host-names": job_faults.HostNames,
    "killed": job_faults.Killed,
    "slow-files": storage_faults.SlowFiles,
    "slow-disk": storage_faults.SlowDisk,
    "stall": stall_faults.Stall,
    "rank-stopped": stall_faults.RankStopped,
    "host-frozen": stall_faults.HostFrozen,
    "host-gone": stall_faults.HostGone,
    "path-cut": stall_faults.PathCut,
    "files-hang": stall_faults.FilesHang,
}


def of(stage, words):
    if not words:
        return Fault(stage, {})
    if words["kind"] not in KINDS:
        raise Failed(f"no such fault: '{words['kind']}'")
    return KINDS[words["kind"]](stage, words)
