// The flags of 'chokepoint probe collective', and what they ask for. Values; one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cli/flags.h"
#include "base/control/message.h"
#include "base/sys/error.h"
#include "probe/collective/conduct/outcome.h"
#include "probe/collective/launch/rank_options.h"

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

void define(cli::Flags& flags, CollectiveFlags& told);

// Mistakes are of kind Usage. `ranks`: how many there are.
Result<collective::Plan> plan_of(const CollectiveFlags& told, int ranks);
Result<collective::RankOptions> rank_options_of(const CollectiveFlags& told);
// Of --hosts, given once or often, with commas or without.
std::vector<std::string> hosts_of(const CollectiveFlags& told);

}  // namespace chokepoint::probe
