// The names of a NIC driver's statistics. Each driver has its own: which of them matter to a
// diagnosis, and which mean the same. Pure.
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
bool is_diagnostic_statistic(std::string_view name);

// "received_pauses". A driver may count the same thing twice under different names: those with one
// `naming` are summed, and of several namings the largest sum holds.
struct CommonStatistic {
  std::string_view name;
  int naming = 0;
};

std::optional<CommonStatistic> common_statistic(std::string_view name);

// By their common names: those of one naming summed, the largest sum of several namings.
std::map<std::string, std::uint64_t> common_statistics(
    const std::vector<net::Statistic>& statistics);

}  // namespace chokepoint::host
