#include "probe/collective/launch/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/host/launcher.h"
#include "probe/collective/order.h"
#include "probe/collective/rendezvous/meeting.h"

namespace chokepoint::probe::collective {

namespace {

using host::Variables;

constexpr std::uint16_t kDefaultPort = 29500;  // as torchrun's

std::string value_of(const Variables& variables, const char* name) {
  return variables(name).value_or("");
}

std::optional<int> number_in(const Variables& variables, const char* name) {
  const std::string text = value_of(variables, name);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = !text.empty() && error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

// How many of the ranks are on this host; nullopt: the launcher does not say.
std::optional<int> local_ranks(const Variables& variables, std::string_view launcher) {
  for (const char* name : {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
                           "MV2_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    if (const std::optional<int> number = number_in(variables, name); number && *number > 0) {
      return number;
    }
  }
  return launcher == "srun" ? most_tasks(value_of(variables, "SLURM_STEP_TASKS_PER_NODE"))
                            : std::nullopt;
}

std::optional<std::string> first_of_slurm(const Variables& variables) {
  for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
    if (const std::optional<std::string> node = host::first_host(value_of(variables, name))) {
      return node;
    }
  }
  return std::nullopt;
}

Result<std::string> master(const Variables& variables, const RankPlacement& placement) {
  if (std::string address = value_of(variables, "MASTER_ADDR"); !address.empty()) {
    return address;
  }
  if (placement.local_ranks == placement.position.ranks) {
    return "127.0.0.1";
  }
  if (const std::optional<std::string> node = first_of_slurm(variables)) {
    return *node;
  }
  return fail(ErrorKind::Usage, "", "MASTER_ADDR", "the ranks do not know where rank 0 is",
              placement.launcher == "mpirun" ? "mpirun -x MASTER_ADDR=HOST …, the host of rank 0"
                                             : "set it to the host of rank 0");
}

Result<std::uint16_t> port(const Variables& variables) {
  const std::string text = value_of(variables, "MASTER_PORT");
  if (text.empty()) {
    return kDefaultPort;
  }
  const std::optional<int> number = number_in(variables, "MASTER_PORT");
  if (!number || *number < 1 || *number + kPorts > UINT16_MAX) {
    return fail(ErrorKind::Usage, "", fmt::format("MASTER_PORT={}", text), "no port",
                "set a number from 1 to 65519");
  }
  // torchrun's agent listens on the port itself.
  const bool agent = value_of(variables, "TORCHELASTIC_USE_AGENT_STORE") == "True";
  return static_cast<std::uint16_t>(*number + (agent ? 1 : 0));
}

std::string name_of_job(const Variables& variables) {
  if (const std::string run = value_of(variables, "TORCHELASTIC_RUN_ID"); !run.empty()) {
    return "torchrun " + run;
  }
  if (const std::string space = value_of(variables, "PMIX_NAMESPACE"); !space.empty()) {
    return "pmix " + space;
  }
  const std::string job = value_of(variables, "SLURM_JOB_ID");
  return job.empty() ? "" : fmt::format("slurm {}.{}", job, value_of(variables, "SLURM_STEP_ID"));
}

// Includes the port: torchrun names every job "none" that has no name, and ranks of other jobs may
// look for theirs on the ports of this one.
std::string job_of(const Variables& variables, std::uint16_t port) {
  const std::string name = name_of_job(variables);
  return fmt::format("{}{}port {}", name, name.empty() ? "" : ", ", port);
}

Result<RankPlacement> placement_of(const Variables& variables, const host::RankFound& found,
                                   const std::string& host) {
  RankPlacement placement;
  placement.launcher = found.launcher;
  if (!found.rank.world_size) {
    return fail(ErrorKind::Usage, "", fmt::format("rank {}", *found.rank.rank),
                "is all that its environment has, not the number of ranks", "set WORLD_SIZE");
  }
  const int ranks = *found.rank.world_size;
  if (ranks > kMaxRanks || *found.rank.rank >= ranks) {
    return fail(ErrorKind::Usage, "", fmt::format("rank {} of {}", *found.rank.rank, ranks),
                "there is no such rank", "RANK counts from 0, and WORLD_SIZE is 4096 at most");
  }
  placement.position.rank = *found.rank.rank;
  placement.position.ranks = ranks;
  placement.position.local_rank = found.rank.local_rank.value_or(0);
  placement.position.host = host;
  placement.local_ranks = ranks == 1 ? 1 : local_ranks(variables, found.launcher).value_or(1);
  return placement;
}

Result<> meet_starter(const Variables& variables, const std::string& meeting,
                      RankPlacement& placement) {
  const Result<net::HostPort> address = net::parse_host_port(meeting, 0);
  if (!address || address->port == 0) {
    return fail(ErrorKind::Usage, "", "CHOKEPOINT_MEETING", "wanted HOST:PORT",
                "'chokepoint probe collective' sets it for the ranks that it starts");
  }
  placement.launcher = "chokepoint";
  placement.meeting = *address;
  placement.job = value_of(variables, "CHOKEPOINT_JOB");
  placement.secret = control::from_hex(value_of(variables, "CHOKEPOINT_SECRET"));
  return {};
}

Result<> meet_rank_0(const Variables& variables, RankPlacement& placement) {
  TRY(const std::string address, master(variables, placement));
  TRY(const std::uint16_t first, port(variables));
  placement.meeting = {address, first};
  placement.ports = kPorts;
  placement.job = job_of(variables, first);
  return {};
}

}  // namespace

std::optional<int> most_tasks(std::string_view list) {
  std::optional<int> most;
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    int tasks = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), tasks);
    if (error != std::errc() || tasks < 1 || (end != item.data() + item.size() && *end != '(')) {
      return std::nullopt;
    }
    most = std::max(most.value_or(0), tasks);
    list.remove_prefix(std::min(item.size() + 1, list.size()));
  }
  return most;
}

Result<std::optional<RankPlacement>> find_placement(const Variables& variables,
                                                    const std::string& host) {
  const host::RankFound found = host::find_rank(variables);
  if (!found.rank.rank) {
    return std::nullopt;
  }
  TRY(RankPlacement placement, placement_of(variables, found, host));
  const std::string meeting = value_of(variables, "CHOKEPOINT_MEETING");
  TRY(meeting.empty() ? meet_rank_0(variables, placement)
                      : meet_starter(variables, meeting, placement));
  return placement;
}

std::vector<Setting> variables_of(const RankPlacement& placement) {
  const std::string& host = placement.meeting.host;
  const bool v6 = host.find(':') != std::string::npos;
  return {{"RANK", std::to_string(placement.position.rank)},
          {"WORLD_SIZE", std::to_string(placement.position.ranks)},
          {"LOCAL_RANK", std::to_string(placement.position.local_rank)},
          {"CHOKEPOINT_MEETING", v6 ? fmt::format("[{}]:{}", host, placement.meeting.port)
                                    : fmt::format("{}:{}", host, placement.meeting.port)},
          {"CHOKEPOINT_JOB", placement.job},
          {"CHOKEPOINT_SECRET", placement.secret ? control::to_hex(*placement.secret) : ""}};
}

}  // namespace chokepoint::probe::collective
