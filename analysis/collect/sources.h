// Where records are collected from: folders of hosts, named one by one or by a Slurm job.
#pragma once

#include <string>
#include <vector>

#include "base/sys/error.h"

namespace chokepoint::analysis {

struct Source {
  std::string host = {};  // empty: a folder of this host
  std::string folder = {};

  std::string name() const { return host.empty() ? folder : host + ":" + folder; }
};

// "gpu[1-2]:runs/a", or a folder of this host. A host's name has no slash.
Result<std::vector<Source>> sources_of(const std::vector<std::string>& words);

// The run's folder of this job on each of its nodes, by scontrol, or by sacct of a job that ended a
// while ago.
Result<std::vector<Source>> sources_of_slurm_job(const std::string& id);

}  // namespace chokepoint::analysis
