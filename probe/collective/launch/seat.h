// This process's place in a job that somebody else started: torchrun, mpirun, srun, or another
// chokepoint, each by the variables it sets. Values.
//
//   RANK, WORLD_SIZE, LOCAL_RANK   who it is (base/host/launcher.h knows the other names)
//   MASTER_ADDR, MASTER_PORT       where rank 0 is, and from which port on the ranks meet
//   CHOKEPOINT_MEETING=HOST:PORT   instead of these: whoever started the ranks leads them, too
//   CHOKEPOINT_JOB, _SECRET        what its ranks have in common, and nobody else
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/control/handshake.h"
#include "base/host/launcher.h"
#include "base/net/address.h"
#include "probe/collective/communicator.h"

namespace chokepoint::probe::collective {

struct RankPlacement {
  Place place = {};
  int local_ranks = 1;        // on this host, itself among them; 1 where nobody says
  std::string launcher = {};  // "torchrun", "mpirun", "srun", "chokepoint"
  std::string job = {};       // the same for all ranks of the job; may be empty
  net::HostPort meeting = {};
  int ports = 1;
  std::optional<control::Secret> secret = {};

  // Rank 0 has the others come to it, unless who started them does.
  bool leads() const { return place.rank == 0 && launcher != "chokepoint"; }
};

// Nothing where no launcher has set anything. `host` is this host's name.
Result<std::optional<RankPlacement>> find_seat(const host::Variables& variables,
                                               const std::string& host);

// What a chokepoint that starts a rank sets for it.
using Setting = std::pair<std::string, std::string>;
std::vector<Setting> variables_of(const RankPlacement& seat);

}  // namespace chokepoint::probe::collective
