#include "probe/collective/launch/seat.h"

#include <fmt/format.h>

#include <charconv>

#include "base/host/launcher.h"
#include "probe/collective/launch/slurm_nodes.h"
#include "probe/collective/order.h"
#include "probe/collective/rendezvous/meeting.h"

namespace chokepoint::probe::collective {
namespace {

using host::Variables;

constexpr std::uint16_t kUsualPort = 29500;  // torchrun's

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

// How many of the ranks are on this host, as far as the launcher says.
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

Result<std::string> master(const Variables& variables, const RankPlacement& seat) {
  if (std::string address = value_of(variables, "MASTER_ADDR"); !address.empty()) {
    return address;
  }
  if (seat.local_ranks == seat.place.ranks) {
    return "127.0.0.1";
  }
  if (const std::optional<std::string> node = first_of_slurm(variables)) {
    return *node;
  }
  return fail(ErrorKind::Usage, "", "MASTER_ADDR", "the ranks do not know where rank 0 is",
              seat.launcher == "mpirun" ? "mpirun -x MASTER_ADDR=HOST …, the host of rank 0"
                                        : "set it to the host of rank 0");
}

Result<std::uint16_t> port(const Variables& variables) {
  const std::string text = value_of(variables, "MASTER_PORT");
  if (text.empty()) {
    return kUsualPort;
  }
  const std::optional<int> number = number_in(variables, "MASTER_PORT");
  if (!number || *number < 1 || *number + kPorts > UINT16_MAX) {
    return fail(ErrorKind::Usage, "", fmt::format("MASTER_PORT={}", text), "no port",
                "set a number from 1 to 65519");
  }
  // Then torchrun's agent listens on the port itself.
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

// With the port: torchrun calls every job "none" that was given no name, and others look for theirs
// on ports where this one meets.
std::string job_of(const Variables& variables, std::uint16_t port) {
  const std::string name = name_of_job(variables);
  return fmt::format("{}{}port {}", name, name.empty() ? "" : ", ", port);
}

Result<RankPlacement> seat_of(const Variables& variables, const host::RankFound& found,
                              const std::string& host) {
  RankPlacement seat;
  seat.launcher = found.launcher;
  if (!found.rank.world_size) {
    return fail(ErrorKind::Usage, "", fmt::format("rank {}", *found.rank.rank),
                "is all that its environment tells, not of how many", "set WORLD_SIZE");
  }
  const int ranks = *found.rank.world_size;
  if (ranks > kMostRanks || *found.rank.rank >= ranks) {
    return fail(ErrorKind::Usage, "", fmt::format("rank {} of {}", *found.rank.rank, ranks),
                "there is no such rank", "RANK counts from 0, and WORLD_SIZE is 4096 at most");
  }
  seat.place.rank = *found.rank.rank;
  seat.place.ranks = ranks;
  seat.place.local_rank = found.rank.local_rank.value_or(0);
  seat.place.host = host;
  seat.local_ranks = ranks == 1 ? 1 : local_ranks(variables, found.launcher).value_or(1);
  return seat;
}

Result<> meet_starter(const Variables& variables, const std::string& meeting, RankPlacement& seat) {
  const Result<net::HostPort> place = net::parse_host_port(meeting, 0);
  if (!place || place->port == 0) {
    return fail(ErrorKind::Usage, "", "CHOKEPOINT_MEETING", "wanted HOST:PORT",
                "'chokepoint probe collective' sets it for the ranks that it starts");
  }
  seat.launcher = "chokepoint";
  seat.meeting = *place;
  seat.job = value_of(variables, "CHOKEPOINT_JOB");
  seat.secret = control::from_hex(value_of(variables, "CHOKEPOINT_SECRET"));
  return {};
}

Result<> meet_rank_0(const Variables& variables, RankPlacement& seat) {
  const Result<std::string> address = master(variables, seat);
  const Result<std::uint16_t> first = port(variables);
  if (!address || !first) {
    return std::unexpected(address ? first.error() : address.error());
  }
  seat.meeting = {*address, *first};
  seat.ports = kPorts;
  seat.job = job_of(variables, *first);
  return {};
}

}  // namespace

Result<std::optional<RankPlacement>> find_seat(const Variables& variables,
                                               const std::string& host) {
  const host::RankFound found = host::find_rank(variables);
  if (!found.rank.rank) {
    return std::nullopt;
  }
  TRY(RankPlacement seat, seat_of(variables, found, host));
  const std::string meeting = value_of(variables, "CHOKEPOINT_MEETING");
  const Result<> placed =
      meeting.empty() ? meet_rank_0(variables, seat) : meet_starter(variables, meeting, seat);
  return placed ? Result<std::optional<RankPlacement>>(std::move(seat))
                : std::unexpected(placed.error());
}

std::vector<Setting> variables_of(const RankPlacement& seat) {
  const std::string& host = seat.meeting.host;
  const bool v6 = host.find(':') != std::string::npos;
  return {{"RANK", std::to_string(seat.place.rank)},
          {"WORLD_SIZE", std::to_string(seat.place.ranks)},
          {"LOCAL_RANK", std::to_string(seat.place.local_rank)},
          {"CHOKEPOINT_MEETING", v6 ? fmt::format("[{}]:{}", host, seat.meeting.port)
                                    : fmt::format("{}:{}", host, seat.meeting.port)},
          {"CHOKEPOINT_JOB", seat.job},
          {"CHOKEPOINT_SECRET", seat.secret ? control::to_hex(*seat.secret) : ""}};
}

}  // namespace chokepoint::probe::collective
