// What a rank that chokepoint starts is told on its command line: all but what it is led through.
// From another host it is believed only as far as it is checked here. Values.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/control/message.h"
#include "base/sys/error.h"

namespace chokepoint::probe::collective {

struct RankOptions {
  std::string backend = "gloo";
  std::string interface = {};
  std::string algorithm = {};
  std::optional<int> gpu = {};
  std::chrono::seconds timeout{60};

  bool operator==(const RankOptions&) const = default;
};

// The program and its arguments.
std::vector<std::string> command_of(const std::string& program, const RankOptions& options);

control::Json body_of(const RankOptions& options);
Result<RankOptions> rank_options_in(const control::Json& body);

}  // namespace chokepoint::probe::collective
