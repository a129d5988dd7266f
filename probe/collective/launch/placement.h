// This process's place in a job that a launcher started: torchrun, mpirun, srun, or another
// chokepoint, each by the variables it sets. Values.
//
//   RANK, WORLD_SIZE, LOCAL_RANK   its rank (base/host/launcher.h knows the other names)
//   MASTER_ADDR, MASTER_PORT       the host of rank 0, and the first port where the ranks may meet
//   CHOKEPOINT_MEETING=HOST:PORT   instead of these: the process that started the ranks leads them
//   CHOKEPOINT_JOB, _SECRET        known to the ranks of this job alone
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/control/handshake.h"
#include "base/host/launcher.h"
#include "base/net/address.h"
#include "probe/collective/communicator.h"

namespace chokepoint::probe::collective {

struct RankPlacement {
  RankPosition position = {};
  int local_ranks = 1;        // on this host, with this one; 1: unknown
  std::string launcher = {};  // "torchrun", "mpirun", "srun", "chokepoint"
  std::string job = {};       // the same for all ranks of the job; may be empty
  net::HostPort meeting = {};
  int ports = 1;
  std::optional<control::Secret> secret = {};

  // Rank 0 leads, unless the chokepoint that started the ranks does.
  bool leads() const { return position.rank == 0 && launcher != "chokepoint"; }
};

// nullopt: no launcher has set anything. `host` is this host's name.
Result<std::optional<RankPlacement>> find_placement(const host::Variables& variables,
                                                    const std::string& host);

// The environment of a rank that chokepoint starts.
using Setting = std::pair<std::string, std::string>;
std::vector<Setting> variables_of(const RankPlacement& placement);

// The most tasks that one host has in a list of Slurm's: 5 in "2(x3),5".
std::optional<int> most_tasks(std::string_view list);

}  // namespace chokepoint::probe::collective
