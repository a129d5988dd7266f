// The records of several sources, brought into one folder at the same time. The caller waits;
// a bounded number of threads reads.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/collect/sources.h"
#include "base/cli/context.h"
#include "base/json/fields.h"
#include "base/record/collector.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

// The chokepoint.collect/1 document, and what is shown of it.
struct CollectOutcome {
  std::string folder = {};
  std::vector<record::Collected> collected = {};
  std::vector<std::string> troubles = {};
};

// The command that writes a source's records to its standard output.
using CommandFor = std::function<std::vector<std::string>(const Source& source)>;

// `max_silence`: how long a source may send nothing. Ctrl-C is an error; what came by then stays.
Result<CollectOutcome> collect(const std::vector<Source>& sources, record::Collector& collector,
                               const CommandFor& command_for, std::chrono::nanoseconds max_silence,
                               const cli::Context& context);

}  // namespace chokepoint::analysis

namespace chokepoint {

template <>
struct Fields<record::Collected> {
  using C = record::Collected;
  static constexpr FieldList kList{
      field("file", &C::file, "in the folder"), field("source", &C::source, "HOST:FILE"),
      field("bytes", &C::bytes, "size of the record").at_least(0),
      field("sent_bytes", &C::sent_bytes, "bytes transferred by this command").at_least(0),
      field("live", &C::is_live, "the record was still being written")};
};

template <>
struct Fields<analysis::CollectOutcome> {
  using O = analysis::CollectOutcome;
  static constexpr std::string_view kSchema = "chokepoint.collect/1";
  static constexpr const char* kCommand = "collect";
  static constexpr FieldList kList{
      field("folder", &O::folder, "where the records are now"),
      field("records", &O::collected, "records that were collected"),
      field("troubles", &O::troubles, "what could not be collected, one line each")};
};

}  // namespace chokepoint
