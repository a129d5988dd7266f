#include "analysis/predict/exchange_time.h"

#include "analysis/predict/collectives.h"
#include "analysis/predict/gloo_ring.h"

namespace chokepoint::analysis {
namespace {

double curve_ms(const PlannedExchange& exchange, const Medium& medium, double ranks) {
  const double measured_ranks =
      medium.curve->ranks > 0 ? static_cast<double>(medium.curve->ranks) : ranks;
  return time_ms(*medium.curve, exchange.bytes) * bus_factor(exchange.collective, ranks) /
         bus_factor(Collective::AllReduce, measured_ranks);
}

}  // namespace

double exchange_ms(const PlannedExchange& exchange, const Medium& medium) {
  const double ranks = exchange.ranks > 0 ? exchange.ranks : medium.ranks.count;
  if (ranks <= 1) return 0;
  if (medium.curve != nullptr && medium.curve->ranks != 1) {
    return curve_ms(exchange, medium, ranks);
  }
  const Wire& wire = medium.wire;
  const double sent_bytes = bus_factor(exchange.collective, ranks) * exchange.bytes;
  const Hop hop{.alpha_ms = wire.alpha_ms, .bytes_per_ms = bytes_per_ms(wire, sent_bytes)};
  if (exchange.collective != Collective::AllReduce) {
    return ring_ms(exchange.collective, exchange.bytes, ranks, hop);
  }
  if (medium.backend == "gloo") {
    // Credits already wait for each other, so no more than two segments meet the window.
    const double in_flight_bytes = 2 * gloo_segments(exchange.bytes, ranks).bytes;
    return gloo_ring_ms(exchange.bytes, ranks, 2 * wire.alpha_ms,
                        bytes_per_ms(wire, in_flight_bytes));
  }
  if (medium.algorithm == Algorithm::Tree && exchange.ranks == 0) {
    const double nodes = medium.ranks.nodes > 1 ? medium.ranks.nodes : ranks;
    return tree_all_reduce_ms(exchange.bytes, nodes, hop);
  }
  return ring_ms(exchange.collective, exchange.bytes, ranks, hop);
}

}  // namespace chokepoint::analysis
