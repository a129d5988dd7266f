// One clock for all nodes of a run. Every pair of nodes is compared by the best that both know:
// packets that both saw and when ranks came to collectives, else what probes measured, else the
// wall clocks (clock_link.h); then each node is led to one of them, the one with most connections,
// over the pairs with the smallest errors. docs/internals/clocks.md explains it, with its accuracy.
// Values; fit_clocks() is pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// From the times of one clock to those of another, whose rates differ a little and may change: a
// broken line through knots. Beyond the first and last knot the pieces at the ends go on.
class ClockMap {
 public:
  struct Knot {
    std::int64_t t_ns = 0;
    std::int64_t shift_ns = 0;  // what is added at t_ns
  };

  ClockMap() = default;  // a clock to itself
  // In the order of t_ns; one that is not later than the one before is left out. A single knot is
  // the same shift for ever.
  explicit ClockMap(const std::vector<Knot>& knots);

  // Clamped to the moments that a record may hold, as the map is made of untrusted numbers.
  std::int64_t operator()(std::int64_t t_ns) const;
  std::int64_t shift_ns(std::int64_t t_ns) const;
  ClockMap inverse() const;
  // From this map's first clock to the other's second.
  ClockMap then(const ClockMap& other) const;
  // From the first knot to the last: how much faster the other clock runs.
  double drift_ppm() const;

  std::span<const Knot> knots() const { return knots_; }

 private:
  std::vector<Knot> knots_;
};

// How a node's clock is known, the most exact first. Marks: by packets, and collectives if there
// are any.
enum class ClockSource { SameHost, Marks, Collectives, Offsets, WallClock, None };

struct NodeClock {
  ClockSource source = ClockSource::SameHost;  // the worst between it and the common clock
  std::int64_t offset_ns = 0;  // its time less the common time, where its span begins
  double drift_ppm = 0;        // how much faster it runs
  // Bound of the error, however the delays there and back differ: half of the round trips between
  // it and the common clock. Empty: unknown.
  std::optional<double> error_ns = 0;
  // Error as measured, if both directions of the path take as long: how far parts of the run by
  // themselves lie off the whole. Empty without packets.
  std::optional<double> noise_ns = 0;
  ClockMap to_common = {};
  ClockMap from_common = {};
};

struct Clocks {
  std::vector<NodeClock> nodes = {};      // as RunData::nodes
  std::size_t reference = 0;              // the node whose clock is the common one
  std::vector<std::string> missing = {};  // for people: which clocks have large errors, and why

  std::int64_t common_ns(std::size_t node, std::int64_t t_ns) const {
    return nodes[node].to_common(t_ns);
  }
  std::int64_t local_ns(std::size_t node, std::int64_t common_ns) const {
    return nodes[node].from_common(common_ns);
  }
};

struct FitOptions {
  bool use_boot_ids = true;  // nodes of one host have one clock; false: measure it
};

Clocks fit_clocks(const RunData& run, const FitOptions& options = {});

}  // namespace chokepoint::analysis

template <>
struct chokepoint::EnumNames<chokepoint::analysis::ClockSource> {
  using enum analysis::ClockSource;
  static constexpr std::string_view kWhat = "how a clock is known";
  static constexpr auto kNames =
      std::to_array<EnumName<analysis::ClockSource>>({{SameHost, "same host"},
                                                      {Marks, "packets"},
                                                      {Collectives, "collectives"},
                                                      {Offsets, "probes"},
                                                      {WallClock, "wall clock"},
                                                      {None, "none"}});
};
