#include "scripts/train/trainer/truth.h"

#include <fstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace chokepoint::trainer {
namespace {

nlohmann::json described(const StepTruth& step) {
  return {{"start_ns", step.start_ns},
          {"end_ns", step.end_ns},
          {"compute_ns", step.compute_ns},
          {"communication_ns", step.communication_ns},
          {"late_ns", step.late_ns}};
}

}  // namespace

void write_truth(const Settings& settings, const StepClock& clock, const std::string& failure) {
  nlohmann::json document = {{"pattern", settings.pattern},
                             {"rank", settings.rank},
                             {"clock", "CLOCK_MONOTONIC"},
                             {"failure", failure},
                             {"steps", nlohmann::json::array()}};
  for (const auto& step : clock.steps()) {
    document["steps"].push_back(described(step));
  }
  std::ofstream file(settings.truth);
  file << document << '\n';
  if (!file.flush()) {
    throw std::runtime_error(settings.truth + ": cannot be written");
  }
}

}  // namespace chokepoint::trainer
