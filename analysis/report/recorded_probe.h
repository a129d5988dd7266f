// A probe of the run's record, whole: every value and list of its document, whichever kind it is.
// Names and units follow from the names of the fields, so that no kind of document has to be known
// here. The document is bounded, since it is not trusted. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

using ProbeValue = std::variant<std::monostate, double, std::string>;

struct NamedValue {
  std::string what = {};  // "cpu, sender"
  ProbeValue value = {};
  std::string unit = {};  // "percent", of a text empty
};

struct NamedList {
  struct Column {
    std::string what = {};
    std::string unit = {};
  };
  std::string what = {};  // "intervals"
  std::vector<Column> columns = {};
  std::vector<std::vector<ProbeValue>> rows = {};  // of all those that the bound lets in
  std::size_t count = 0;                           // of all
};

struct RecordedProbe {
  std::string node = {};  // that ran it
  std::string kind = {};
  std::string peer = {};  // as the record has it; empty: none
  std::string direction = {};
  std::int64_t wall_ns = 0;
  std::string source = {};
  std::vector<NamedValue> values = {};
  std::vector<NamedList> lists = {};
};

// All but doctor's, whose checks the hosts' pictures show.
std::vector<RecordedProbe> recorded_probes(const RunData& run);

}  // namespace chokepoint::analysis
