// How a trace describes its tracks; see trace_reader.h. Values; one thread.
#pragma once

#include <functional>

#include <protozero/pbf_reader.hpp>

#include "tests/analysis/export/trace_reader.h"

namespace chokepoint::analysis {

// Names a fault, unless it is well.
using OnFault = std::function<void(bool is_well, const std::string& what)>;

struct DescribedTrack {
  std::uint64_t uuid = 0;
  TraceTrack track = {};
};

DescribedTrack read_track(protozero::pbf_reader message, const OnFault& fault);

// A string of a message, which has to be UTF-8.
std::string read_text(protozero::pbf_reader& message, const OnFault& fault);

}  // namespace chokepoint::analysis
