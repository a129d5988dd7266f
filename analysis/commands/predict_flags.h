// What predict is told on its command line, as it was written. One thread.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "analysis/predict/buckets.h"
#include "base/cli/flags.h"

namespace chokepoint::analysis {

struct PredictFlags {
  // The job, from a run or in figures. Counts are text, since 708M is one.
  std::string from = {};
  std::string parameters = {};
  std::string type = "fp32";
  std::string activations = {};
  std::string ranks = {};
  std::string nodes = {};
  std::string steps = {};
  std::chrono::nanoseconds single_time{};
  std::chrono::nanoseconds compute{};
  std::chrono::nanoseconds measured_time{};
  std::string parallelism = "dp";
  std::string backend = "nccl";
  std::string overlap = {};
  math::Bytes bucket{static_cast<std::uint64_t>(kBucketBytes)};
  std::string layers = {};
  std::string hidden = {};
  std::string batch = {};
  std::string sequence = {};
  std::string micro_batches = {};
  std::string vocabulary = {};
  // The network.
  std::string link = {};
  std::string rtt = {};  // text, since 0 is one
  std::string loss = {};
  math::Bytes buffer = {};
  std::string congestion = "cubic";
  std::string transport = "auto";
  std::string algorithm = "ring";
  std::string curve = {};
  // Money.
  std::vector<std::string> upgrades = {};
  std::string runs = {};
  std::string hour_price = {};
};

void define(cli::Flags& flags, PredictFlags& told);

}  // namespace chokepoint::analysis
