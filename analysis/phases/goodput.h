// How much of a run's time its steps take, and where the rest went: before the first step, after
// the last one, and in pauses, with what the job did meanwhile. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/load/run_data.h"
#include "analysis/phases/steps.h"
#include "base/json/fields.h"

namespace chokepoint::analysis {

// What most of a pause's time went with, as far as counters show it.
enum class PauseDoes : std::uint8_t {
  WritesFiles,
  ReadsFiles,
  SendsData,
  UsesProcessors,
  NothingSeen,
};

// Between two steps, or what a step took beyond a usual one.
struct RunPause {
  double at_s = 0;  // since the run began
  double s = 0;
  PauseDoes does = PauseDoes::NothingSeen;
};

struct Goodput {
  double run_s = 0;
  double start_s = 0;  // before the first step
  double steps_s = 0;  // without pauses
  double pauses_s = 0;
  double end_s = 0;  // after the last step
  std::int64_t pauses = 0;
  std::vector<RunPause> longest = {};  // of the pauses, the longest first

  double percent() const { return run_s > 0 ? 100 * steps_s / run_s : 0; }
};

// Empty without steps.
std::optional<Goodput> goodput_of(const RunData& run, const Clocks& clocks, const StepLine& steps);

}  // namespace chokepoint::analysis

namespace chokepoint {

template <>
struct EnumNames<analysis::PauseDoes> {
  using enum analysis::PauseDoes;
  static constexpr std::string_view kWhat = "what a job does in a pause";
  static constexpr auto kNames =
      std::to_array<EnumName<analysis::PauseDoes>>({{WritesFiles, "writes files"},
                                                    {ReadsFiles, "reads files"},
                                                    {SendsData, "sends data"},
                                                    {UsesProcessors, "uses processors"},
                                                    {NothingSeen, "nothing seen"}});
};

}  // namespace chokepoint
