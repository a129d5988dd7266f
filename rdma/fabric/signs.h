// Which counters speak of what, and how a sentence calls them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rdma/fabric/changes.h"

namespace chokepoint::rdma::fabric {

struct Sign {
  std::string_view counter;
  std::string_view one;   // "timeout"
  std::string_view many;  // "timeouts"
};

std::span<const Sign> resent_signs();     // at the requester: lost for sure
std::span<const Sign> missed_signs();     // at the responder: lost, or overtaken
std::span<const Sign> gap_signs();        // of either end: something did not arrive
std::span<const Sign> not_ready_signs();  // of either end
std::span<const Sign> congestion_signs();

// The sum over both ends. Nothing where neither counts any of them.
std::optional<std::uint64_t> sum_of(std::span<const Sign> signs, const Changes& own,
                                    const Changes& peer);

// "3 timeouts here, 2 sequence gaps at the peer"; empty where none grew.
std::string told(std::span<const Sign> signs, const Changes& own, const Changes& peer);

}  // namespace chokepoint::rdma::fabric
