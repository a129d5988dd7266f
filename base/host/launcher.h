// A process's rank by the variables that a launcher (torchrun, mpirun, srun) sets in its
// environment. Launchers pass on their own variables to those they launch, so several may be there,
// and a launcher may look like a rank: the one nearest to the training counts, by `nearness`.
// Values; any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/error.h"

namespace chokepoint::host {

// By RANK, LOCAL_RANK, WORLD_SIZE, or by what srun and mpirun set in their place.
struct Rank {
  std::optional<int> rank = {};
  std::optional<int> local_rank = {};
  std::optional<int> world_size = {};

  bool operator==(const Rank&) const = default;
};

struct RankFound {
  Rank rank = {};
  int nearness = 0;  // 0: no variable is set
  // The launcher that set it: "torchrun", "mpirun", "srun"; empty where none is set.
  std::string_view launcher = {};

  bool operator==(const RankFound&) const = default;
};

// As /proc/PID/environ has it.
RankFound find_rank(std::string_view environment);

using Variables = std::function<std::optional<std::string>(const std::string& name)>;
// This process's own, or made up ones.
RankFound find_rank(const Variables& variables);

// A name of the job that all nodes find without messages between them: its number at Slurm, the
// launcher's id, or the address and port where its ranks meet.
struct JobName {
  std::string text = {};  // letters, digits, '.', '_', '-'; empty: nothing names the job
  bool is_unique = true;  // false: an address, which the next job may have, too

  bool operator==(const JobName&) const = default;
};

// The launcher may be what is to be started, so its command line counts as its variables do.
JobName find_job(const Variables& variables, std::span<const std::string> command);

// The words of an ssh to a host, the command for its shell left out: without password prompts
// (BatchMode), without forwarding of X11 or an agent; a shared connection is used but none is left
// open.
std::vector<std::string> ssh_to(const std::string& host);

// Lists of hosts as Slurm writes them. Pure.

inline constexpr std::size_t kMaxListedHosts = 65'536;

// "gpu[007-009,12],login1": gpu007, gpu008, gpu009, gpu12, login1. A name may have several
// brackets, of which the last counts fastest; a host named twice is there twice. No more than
// kMaxListedHosts.
Result<std::vector<std::string>> hosts_of(std::string_view list);
// The first of them; nothing where it is not such a list.
std::optional<std::string> first_host(std::string_view list);

}  // namespace chokepoint::host
