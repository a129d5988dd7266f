// What decided how long one step took: from its last moment back to the last one of the step
// before, each time along the arc that the moment waited for longest.
//
//   rank 0   ── computing ──▶ ready ····· waits ·····┌─▶ end
//   rank 1   ══ computing ═══════════ late ══▶ ready ═══ transfer
//
// A shorter part that is not on the path changes nothing as long as it stays shorter. Pure; any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json/fields.h"

namespace chokepoint::analysis {

struct RunGraph;
struct StepLine;

// Late: computing of a rank that the others waited for. Overhead: round trips of messages that
// announce others, and the library's own work.
enum class PathKind : std::uint8_t { Computing, Late, Transfer, Overhead };

struct PathPart {
  PathKind kind = PathKind::Computing;
  std::optional<std::int64_t> rank = {};  // empty: not known
  std::string node = {};
  std::optional<std::int64_t> to_rank = {};  // of a transfer: where the path goes on, if elsewhere
  double start_ms = 0;                       // within the step
  double ms = 0;

  bool operator==(const PathPart&) const = default;
};

struct CriticalPath {
  std::int64_t step = 0;  // its number among all, counted from 1
  double length_ms = 0;
  std::vector<PathPart> parts = {};  // one after the other; they sum to the length
};

// A run in which every moment has come.
struct WalkedRun {
  const RunGraph& graph;
  const std::vector<double>& times_ns;  // by moment
  const StepLine& steps;
};

// Of the step of median length. Parts below 1 % of it belong to a neighbour; of more than 40, those
// that are alike within a twentieth of the step are one. nullopt where no two steps follow each
// other. `nodes`: names.
std::optional<CriticalPath> critical_path_of(const WalkedRun& run,
                                             const std::vector<std::string>& nodes);

}  // namespace chokepoint::analysis

namespace chokepoint {

template <>
struct EnumNames<analysis::PathKind> {
  using K = analysis::PathKind;
  static constexpr std::string_view kWhat = "a kind of part of a step";
  static constexpr auto kNames = std::to_array<EnumName<K>>({{K::Computing, "computing"},
                                                             {K::Late, "late"},
                                                             {K::Transfer, "transfer"},
                                                             {K::Overhead, "overhead"}});
};

}  // namespace chokepoint
