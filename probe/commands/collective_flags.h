// The flags of 'chokepoint probe collective', and what they ask of each rank, of the leader and of
// the servers that start ranks. The main thread alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/cli/context.h"
#include "base/cli/flags.h"
#include "base/control/client.h"
#include "base/control/message.h"
#include "base/sys/error.h"
#include "probe/collective/communicator.h"
#include "probe/collective/launch/conductor.h"
#include "probe/collective/launch/leader.h"
#include "probe/collective/launch/placement.h"
#include "probe/collective/launch/rank_service.h"
#include "probe/collective/launch/rank_thread.h"

namespace chokepoint::probe {

struct CollectiveFlags {
  std::string backend = "gloo";
  std::string collective = "all-reduce";
  std::string type = "float32";
  std::string bytes = {};
  std::string parameters = {};
  double factor = 4;
  std::int64_t root = 0;
  std::int64_t iterations = 0;
  std::chrono::nanoseconds time = std::chrono::seconds(1);
  std::int64_t warm_up = -1;
  bool no_check = false;

  std::int64_t local = 0;
  std::vector<std::string> hosts = {};
  std::int64_t ranks_per_host = 1;
  std::int64_t port = control::kPort;
  std::string key_file = {};
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);

  std::string interface = {};
  std::string algorithm = {};
  std::int64_t gpu = -1;

  double min_busbw = 0;
};

void define(cli::Flags& flags, CollectiveFlags& given);

// Errors are of kind Usage. `ranks`: how many there are.
Result<collective::Plan> plan_of(const CollectiveFlags& given, int ranks);
Result<collective::RankOptions> rank_options_of(const CollectiveFlags& given);
// All hosts of --hosts.
std::vector<std::string> hosts_of(const CollectiveFlags& given);

// These read key files, and how much memory this host has left.
Result<collective::Job> job_of(const CollectiveFlags& given,
                               std::span<const collective::Backend> backends,
                               const collective::RankPlacement& placement,
                               const cli::Context& context);
Result<collective::MemberOptions> member_options(const CollectiveFlags& given,
                                                 const collective::RankPlacement& placement,
                                                 int interrupt, const cli::Context& context);
// One for each host, in their order.
Result<std::vector<control::ClientOptions>> server_options(const CollectiveFlags& given,
                                                           const std::vector<std::string>& hosts,
                                                           const cli::Context& context);
// The context must outlive the options: on a terminal each size is printed as it ends.
collective::LeaderOptions leader_options(const CollectiveFlags& given, int ranks, int interrupt,
                                         const cli::Context& context);

}  // namespace chokepoint::probe
