// chokepoint.probe.processor/1: what the processors of a host compute.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/json/fields.h"

namespace chokepoint {

namespace documents {

struct ProcessorPace {
  std::optional<int> processor = {};  // nothing: the kernel chose
  double million_steps_per_s = 0;     // of wall time, in the fifth of it that went best
  double got_percent = 0;             // of the whole time, on a processor
};

struct ProbeProcessor {
  ProcessorPace alone = {};
  std::vector<ProcessorPace> processors = {};  // by number
  double total_million_steps_per_s = 0;
  double least_got_percent = 0;
  bool interrupted = false;
};

}  // namespace documents

template <>
struct Fields<documents::ProcessorPace> {
  using P = documents::ProcessorPace;
  static constexpr FieldList kList{
      field("processor", &P::processor, "number of the processor; null: chosen by the kernel")
          .at_least(0),
      field("million_steps_per_s", &P::million_steps_per_s,
            "steps of a chain of multiplications, in the fastest fifth of the time")
          .at_least(0),
      field("got_percent", &P::got_percent, "share of the time that the thread was on a processor")
          .between(0, 100)};
};

template <>
struct Fields<documents::ProbeProcessor> {
  using P = documents::ProbeProcessor;
  static constexpr std::string_view kSchema = "chokepoint.probe.processor/1";
  static constexpr const char* kCommand = "probe processor";
  static constexpr FieldList kList{
      field("alone", &P::alone, "one thread with no other thread running"),
      field("processors", &P::processors,
            "one thread pinned to each processor, all at the same time"),
      field("total_million_steps_per_s", &P::total_million_steps_per_s, "sum over all processors")
          .at_least(0),
      field("least_got_percent", &P::least_got_percent,
            "share of the time on the processor that gave the thread least")
          .between(0, 100),
      field("interrupted", &P::interrupted, "the user ended the test early")};
};

}  // namespace chokepoint
