// Gloo's ring all-reduce, segment by segment. A tensor is cut into at least two segments a rank of
// at most 1 MiB each. A rank receives two of them at a time: it gives a credit for the next one
// when the one before the last has come, so a credit and its segment take a round trip.
//
//   R ── credit 0, credit 1 ──▶ S ── segment 0, segment 1 ──▶ R ── credit 2 (0 came) ──▶ …
//
// Reduce-scatter and all-gather each pass all but one rank's segments. Pure functions.
#pragma once

namespace chokepoint::analysis {

struct GlooSegments {
  double bytes = 0;  // of each
  double count = 0;  // that a rank receives in one of the two phases
};

GlooSegments gloo_segments(double tensor_bytes, double ranks);

double gloo_ring_ms(double tensor_bytes, double ranks, double rtt_ms, double bytes_per_ms);

// What credits alone let through: 2 · min(1 MiB, bytes/2n) / RTT.
double gloo_credit_mbps(double tensor_bytes, double ranks, double rtt_ms);

}  // namespace chokepoint::analysis
