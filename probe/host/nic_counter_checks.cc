#include "probe/host/nic_counter_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "probe/host/nic_rules.h"

namespace chokepoint::probe {
namespace {

// A sound link has less than one bad packet in 10^7; TCP's throughput suffers from one lost packet
// in 10^5; a pause for each 10^4 packets is a receiver at its limit.
constexpr double kErrorShare = 1e-6;
constexpr double kDropShare = 1e-5;
constexpr double kPauseShare = 1e-4;
// A start, a change of settings and a switch's restart or two are no sign of anything.
constexpr std::int64_t kManyFlaps = 20;

using Counts = std::vector<net::Statistic>;

constexpr std::array<std::string_view, 7> kErrorCounters{
    "rx_errors",        "tx_errors",         "rx_crc_errors",    "rx_frame_errors",
    "rx_length_errors", "tx_carrier_errors", "tx_aborted_errors"};
constexpr std::array<std::string_view, 5> kDropCounters{
    "rx_missed_errors", "rx_fifo_errors", "rx_over_errors", "tx_fifo_errors", "tx_dropped"};
constexpr std::array<std::string_view, 7> kDropWords{
    "out_of_buffer", "discard", "missed", "no_buffer", "no_dma_resources", "rx_dropped", "overrun"};
// Packets that somebody wanted dropped, and what only looks like a drop.
constexpr std::array<std::string_view, 3> kHarmlessWords{"xdp", "steer", "filter"};

bool contains_any(std::string_view name, std::span<const std::string_view> words) {
  return std::ranges::any_of(words, [&](auto word) { return name.contains(word); });
}

void add_counters(const host::Nic& nic, std::span<const std::string_view> names, Counts& counts) {
  for (const std::string_view name : names) {
    const auto value = counter(nic, std::string(name));
    if (value && *value > 0) {
      counts.push_back({std::string(name), *value});
    }
  }
}

Counts drops_of(const host::Nic& nic) {
  Counts counts;
  add_counters(nic, kDropCounters, counts);
  for (const net::Statistic& statistic : nic.settings.statistics) {
    if (statistic.value > 0 && contains_any(statistic.name, kDropWords) &&
        !contains_any(statistic.name, kHarmlessWords)) {
      counts.push_back(statistic);
    }
  }
  return counts;
}

// "rx_prio3_pause" and "tx_priority_3_xoff.nic", but not how long they lasted.
Counts pauses_of(const host::Nic& nic, std::string_view direction) {
  constexpr std::array<std::string_view, 2> kWords{"pause", "xoff"};
  constexpr std::array<std::string_view, 4> kOther{"duration", "transition", "storm", "xon_"};
  Counts counts;
  for (const net::Statistic& statistic : nic.settings.statistics) {
    if (statistic.value > 0 && statistic.name.contains(direction) &&
        contains_any(statistic.name, kWords) && !contains_any(statistic.name, kOther)) {
      counts.push_back(statistic);
    }
  }
  return counts;
}

std::int64_t largest(const Counts& counts) {
  std::int64_t value = 0;
  for (const net::Statistic& count : counts) {
    value = std::max(value, count.value);
  }
  return value;
}

// The three largest: "rx_out_of_buffer 1234, rx_discards_phy 12".
std::string words_of(Counts counts) {
  std::ranges::sort(counts, std::greater(), &net::Statistic::value);
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(counts.size(), 3); ++i) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[i].name, counts[i].value);
  }
  return text;
}

std::int64_t packets_of(const host::Nic& nic) {
  return counter(nic, "rx_packets").value_or(0) + counter(nic, "tx_packets").value_or(0);
}

// A handful since boot is worth a line; a share of the traffic is worth an alarm.
Status status_of(const host::Nic& nic, const Counts& counts, double share) {
  const std::int64_t worst = largest(counts);
  if (worst == 0) {
    return Status::Pass;
  }
  const auto packets = static_cast<double>(packets_of(nic));
  return static_cast<double>(worst) > packets * share ? Status::Warning : Status::Info;
}

// Nothing is known of a port whose counters are not there.
bool is_counted(const host::Nic& nic) {
  return is_in_use(nic) && (!nic.counters.empty() || !nic.settings.statistics.empty());
}

void finish(Check check, const host::Nic& nic, const Counts& counts, double share, Checks& checks) {
  check.status = status_of(nic, counts, share);
  check.found = counts.empty() ? "0" : words_of(counts);
  if (check.status == Status::Pass) {
    check.next_step.clear();
  } else {
    check.found += fmt::format(" in {} packets", packets_of(nic));
    check.wanted = fmt::format("less than 1 in {:.0f}", 1 / share);
  }
  checks.push_back(std::move(check));
}

}  // namespace

void check_errors(const host::Nic& nic, Checks& checks) {
  if (!is_counted(nic)) {
    return;
  }
  Counts counts;
  add_counters(nic, kErrorCounters, counts);
  Check check =
      check_of("nic.errors", nic, "packets broken on the wire are lost: cable, optics, dirt");
  check.next_step = fmt::format(
      "ethtool -m {0}; clean or change cable and transceiver; "
      "ethtool -S {0} | grep -i err",
      nic.name);
  finish(std::move(check), nic, counts, kErrorShare, checks);
}

void check_drops(const host::Nic& nic, Checks& checks) {
  if (!is_counted(nic)) {
    return;
  }
  Check check = check_of("nic.drops", nic,
                         "the host took packets off the wire too slowly, and TCP sees loss");
  check.next_step = fmt::format(
      "ethtool -S {0} | grep -iE 'drop|discard|missed|buffer'; "
      "then longer rings (ethtool -G) and more queues (ethtool -L)",
      nic.name);
  finish(std::move(check), nic, drops_of(nic), kDropShare, checks);
}

void check_pauses(const host::Nic& nic, Checks& checks) {
  if (!is_counted(nic) || nic.settings.statistics.empty()) {
    return;
  }
  const Counts sent = pauses_of(nic, "tx");
  Counts counts = pauses_of(nic, "rx");
  const bool host_is_slow = largest(sent) >= largest(counts);
  counts.insert(counts.end(), sent.begin(), sent.end());
  Check check = check_of("nic.pauses", nic,
                         counts.empty() ? "no side asked the other to stop"
                         : host_is_slow ? "this host cannot drain its port and stops the network"
                                        : "the network cannot absorb and stops this host");
  check.next_step =
      fmt::format("ethtool -S {} | grep -iE 'pause|xoff', twice during a job", nic.name);
  finish(std::move(check), nic, counts, kPauseShare, checks);
}

void check_flaps(const host::Nic& nic, Checks& checks) {
  const auto changes = counter(nic, "carrier_changes");
  if (!is_in_use(nic) || !changes) {
    return;
  }
  Check check = check_of("nic.flaps", nic, "each loss of the link stalls every flow for a second");
  check.found = fmt::format("{} carrier changes since boot", *changes);
  if (*changes >= kManyFlaps) {
    check.status = Status::Info;
    check.next_step = fmt::format("dmesg -T | grep -i '{}.*link'", nic.name);
  }
  checks.push_back(std::move(check));
}

}  // namespace chokepoint::probe
