// How long one exchange takes: by a measured curve if there is one, by Gloo's ring with its
// credits, else by the α–β model. Values; pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/predict/tiers.h"
#include "analysis/predict/wire.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

// All-reduce as it was measured between these hosts: time over size, or latency and bandwidth
// fitted to it.
struct CurvePoint {
  double bytes = 0;
  double ms = 0;
};

struct Curve {
  std::string backend = {};
  std::int64_t ranks = 0;               // that measured it; 0: not known
  std::vector<CurvePoint> points = {};  // by size
  std::optional<double> alpha_ms = {};  // of the fit
  std::optional<double> beta_mbps = {};
};

// Of a chokepoint.collective/1 document, of which fields may be missing. `name`: of its file.
Result<Curve> parse_curve(std::string_view text, std::string_view name);

// Straight lines between sizes. Beyond them by a latency and a bandwidth: below the smallest size
// the latency is the fit's, else that of the line through the two smallest sizes, and no more than
// the smallest size took; above the largest the bandwidth is that of the two largest. Of one size
// alone its bandwidth, without a latency. Without sizes by the fit.
double time_ms(const Curve& curve, double bytes);

// What is to be said of times that the curve does not have between these sizes, a line each. An
// Error if they are so far from what was measured that they would be guesses.
Result<std::vector<std::string>> judge_curve(const Curve& curve, double least_bytes,
                                             double most_bytes);

struct Medium {
  Wire wire = {};                   // by one NIC
  std::optional<Wire> inside = {};  // between ranks of one host
  Wire back = {};                   // of the answers to remote calls
  Ranks ranks = {};
  std::string backend = {};
  Algorithm algorithm = Algorithm::Ring;
  const Curve* curve = nullptr;  // of all-reduce; others take it by their bus factors
};

double exchange_ms(const PlannedExchange& exchange, const Medium& medium);

// How long a step's remote calls take, one worker's computing included. Requests to all workers
// share the caller's link, and so do their answers; the workers compute side by side.
//
//   one call      empty call + requests + computing + answers
//   w under way   the next one starts as soon as there is room, and the slowest part sets the pace
double calls_ms(const CallProfile& calls, double compute_ms, const Medium& medium);

// Gloo's ring all-reduce, segment by segment. A tensor is cut into at least two segments a rank of
// at most 1 MiB each. A rank receives two of them at a time, and gives credits for the next two
// when they have come.
//
//   R ── credit 0, credit 1 ──▶ S ── segment 0, segment 1 ──▶ R ── credits 2, 3 ──▶ …
//
// So a pair takes a round trip and the time of two segments. By gloo's allreduce.cc a credit could
// go as soon as the segment before the last has come, beside the last; measured pairs take as long
// as here (docs/internals/predict.md). Reduce-scatter and all-gather each pass all but one rank's
// segments.
struct GlooSegments {
  double bytes = 0;  // of each
  double count = 0;  // that a rank receives in one of the two phases
};

GlooSegments gloo_segments(double tensor_bytes, double ranks);

double gloo_ring_ms(double tensor_bytes, double ranks, double rtt_ms, double bytes_per_ms);

// The rate that credits allow: 2 · min(1 MiB, bytes/2n) / RTT.
double gloo_credit_mbps(double tensor_bytes, double ranks, double rtt_ms);

}  // namespace chokepoint::analysis
