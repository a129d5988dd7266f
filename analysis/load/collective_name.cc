#include "analysis/load/collective_name.h"

#include <array>

namespace chokepoint::analysis {

const char* name_of(record::CollectiveKind kind) {
  constexpr std::array kNames = {"unknown",    "all-reduce", "all-gather", "reduce-scatter",
                                 "broadcast",  "reduce",     "gather",     "scatter",
                                 "all-to-all", "barrier",    "send",       "receive"};
  const auto place = static_cast<std::size_t>(kind);
  return place < kNames.size() ? kNames.at(place) : kNames.front();
}

}  // namespace chokepoint::analysis
