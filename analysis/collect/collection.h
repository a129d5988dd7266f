// The records of several sources, brought into one folder at the same time. Whoever calls waits;
// a bounded number of threads reads.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "analysis/collect/sources.h"
#include "base/cli/context.h"
#include "base/record/collector.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

struct CollectOutcome {
  std::vector<record::Collected> collected = {};
  std::vector<std::string> troubles = {};
};

// The command that writes a source's records to its standard output.
using CommandFor = std::function<std::vector<std::string>(const Source& source)>;

// `max_silence`: how long a source may send nothing. Ctrl-C is an error; what came by then is kept.
Result<CollectOutcome> collect(const std::vector<Source>& sources, record::Collector& collector,
                               const CommandFor& command_for, std::chrono::nanoseconds max_silence,
                               const cli::Context& context);

}  // namespace chokepoint::analysis
