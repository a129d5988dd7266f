// The whole test: chooses the GPUs, measures each of them, then each pair: straight from one's
// memory to the other's, and through host memory. A failure or a stop is noted in the outcome, and
// the rest continues. One thread, and those that watch links.
#pragma once

#include <string>
#include <vector>

#include "probe/pcie/bench.h"
#include "probe/pcie/gpu_survey.h"
#include "probe/pcie/outcome.h"

namespace chokepoint::probe::pcie {

struct Selection {
  std::vector<std::string> gpus = {};  // CUDA's numbers or PCI addresses; empty: all
  bool peers = true;
};

struct Measured {
  std::vector<GpuOutcome> gpus = {};
  std::vector<PeerOutcome> peers = {};
  std::optional<Error> problem = {};  // why nothing was measured at all
  int driver_version = 0;             // CUDA's: 13000
  std::uint64_t bytes = 0;            // of a copy, as asked for
  std::vector<int> cpus = {};         // that this process may use
  bool interrupted = false;
};

// An error only if a GPU that was asked for by name is missing.
Result<Measured> survey(const SurveyContext& host, const Selection& selection, const Pace& pace);

}  // namespace chokepoint::probe::pcie
