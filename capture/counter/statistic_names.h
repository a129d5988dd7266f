// What a NIC's driver calls what it counts. Every driver has its own words; here stands which of
// them matter to a diagnosis, and which mean the same. Pure.
#pragma once

#include <optional>
#include <string_view>

namespace chokepoint::capture::counter {

// Does it tell of pauses, losses, errors, stalls, limits or RDMA's share?
bool is_telling_statistic(std::string_view name);

// "received_pauses". A driver may count the same thing twice under different names: those of one
// `way` are summed, and of several ways the largest sum holds.
struct CommonStatistic {
  std::string_view name;
  int way = 0;
};

std::optional<CommonStatistic> common_statistic(std::string_view name);

}  // namespace chokepoint::capture::counter
