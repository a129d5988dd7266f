#include "capture/book/pair.h"

#include <tuple>

namespace chokepoint::capture::book {

Pair pair_of(const packet::Ends& ends, std::uint64_t network) {
  const bool is_source_low =
      std::tie(ends.source, ends.source_port) <= std::tie(ends.destination, ends.destination_port);
  Pair pair{.low = ends.source,
            .high = ends.destination,
            .low_port = ends.source_port,
            .high_port = ends.destination_port,
            .protocol = ends.protocol,
            .network = network};
  if (!is_source_low) {
    std::swap(pair.low, pair.high);
    std::swap(pair.low_port, pair.high_port);
  }
  return pair;
}

}  // namespace chokepoint::capture::book
