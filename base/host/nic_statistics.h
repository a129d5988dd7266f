// What a NIC's driver calls what it counts. Every driver has its own words; here stands which of
// them matter to a diagnosis, and which mean the same. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/net/ethtool.h"

namespace chokepoint::host {

// Whether it counts pauses, losses, errors, stalls, limits or RDMA's share.
bool is_telling_statistic(std::string_view name);

// "received_pauses". A driver may count the same thing twice under different names: those of one
// `way` are summed, and of several ways the largest sum holds.
struct CommonStatistic {
  std::string_view name;
  int way = 0;
};

std::optional<CommonStatistic> common_statistic(std::string_view name);

// By their common names, those of one way summed and the largest of several ways.
std::map<std::string, std::uint64_t> common_statistics(
    const std::vector<net::Statistic>& statistics);

}  // namespace chokepoint::host
