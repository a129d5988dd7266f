// The graph of a run: its moments, and what each of them waited for.
//
//   ready    a rank has something to exchange     ── after its computing
//   end      a rank's part of an exchange is over ── after all that it needs were ready, and the
//                                                    data had passed
//   rank 0   ── computing ──▶ ready ─┬─ transfer ─▶ end ── computing ──▶ ready …
//   rank 1   ── computing ──▶ ready ─┴─ transfer ─▶ end ── computing ──▶ ready …
//
// Where computing goes on beside exchanges (phases/overlap.h), a moment also waits for when the one
// before it was ready. docs/internals/replay.md has the rules. Pure; any thread.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "analysis/phases/meetings.h"
#include "analysis/phases/phases.h"

namespace chokepoint::analysis {

inline constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

// What passes between two moments. Overhead: of the library, and nothing changes it.
// Propagation: of bits, from end to end of a path.
enum class Cost : std::uint8_t { Computing, Overhead, Propagation, Transfer };

struct Arc {
  std::size_t from = 0;  // moment
  Cost cost = Cost::Overhead;
  std::int64_t ns = 0;              // as recorded
  std::int64_t late_ns = 0;         // of computing: by which the rank came late to the others
  std::size_t transfer = kNowhere;  // in RunGraph::transfers
};

struct GraphMoment {
  std::int64_t t_ns = 0;        // as recorded
  std::size_t step = kNowhere;  // of the settled ones
  std::size_t list = 0;         // of the rank's exchanges
  std::vector<Arc> arcs = {};   // it comes when all of these have passed; none: at t_ns
};

// On which node a rank is; -1: not known which rank.
struct RankPlace {
  std::int64_t rank = -1;
  std::size_t node = 0;

  auto operator<=>(const RankPlace&) const = default;
};
// The ranks of a group, in the order in which a ring passes them.
using RankRing = std::vector<RankPlace>;

// Of a ring's ranks on one host, how many send to another host: so many share its link. The host of
// which that is true of most.
double crossings_of(const RankRing& ring);

// An exchange's data on their way.
struct Transfer {
  record::CollectiveSource source = record::CollectiveSource::Gloo;
  record::CollectiveKind kind = record::CollectiveKind::Unknown;
  std::int64_t group = 0;
  double bytes = 0;  // as the ranks' rows have them, the most
  double ranks = 2;
  bool is_between_hosts = true;
  std::int64_t took_ns = 0;     // since all were ready
  double at_once = 1;           // exchanges that shared the link with it, and itself
  double crossings = 1;         // of its ring; of a message one
  std::size_t ring = kNowhere;  // in RunGraph::rings, of collectives
};

struct RunGraph {
  std::vector<GraphMoment> moments = {};
  std::vector<std::size_t> order = {};  // each after all that it waits for
  std::vector<Transfer> transfers = {};
  std::vector<RankRing> rings = {};
  std::vector<RankPlace> ranks = {};  // by list
};

// By settled step, of `steps`, its moment that came last; kNowhere: nothing was exchanged in it.
// `times_ns`: by moment.
std::vector<std::size_t> last_moments(const RunGraph& graph, std::size_t steps,
                                      const std::vector<double>& times_ns);

// Gradients exchanged in other buckets, or behind more or less of the computing.
struct Buckets {
  std::optional<double> bytes = {};    // of a bucket
  std::optional<double> overlap = {};  // 0: after the backward pass; 1: as soon as they are made
  double rtt_ms = 0;                   // of the path
  bool is_cut = false;  // else all is as recorded; with neither of these cut as it was
};

struct GraphInput {
  const Exchanges& exchanges;
  std::vector<Meeting> meetings = {};
  const StepLine& steps;
  const Phases& phases;
  Buckets buckets = {};
};

// nullopt where nothing was exchanged in the settled steps, or moments wait for each other; with
// other buckets also where no gradients were recognised.
std::optional<RunGraph> graph_of(const GraphInput& input);

}  // namespace chokepoint::analysis
