#include "probe/host/nic_setting_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "probe/host/nic_rules.h"

namespace chokepoint::probe {
namespace {

// Beyond this a longer ring only adds delay and misses the cache.
constexpr std::int64_t kLongestUsefulRing = 8192;
constexpr std::int64_t kSmallRing = 1024;
// Below the defaults of every 1G driver.
constexpr std::int64_t kTinyRing = 128;
// One queue a CPU is plenty from here on.
constexpr std::int64_t kEnoughQueues = 8;

std::int64_t wanted_ring(std::optional<std::int64_t> maximum) {
  return std::min(maximum.value_or(0), kLongestUsefulRing);
}

bool is_short(std::optional<std::int64_t> ring, std::optional<std::int64_t> maximum) {
  return ring && maximum && *ring < wanted_ring(maximum);
}

// At 100G all of a ring may fill within 100 us; at 1G the default lasts for milliseconds.
Status status_of_rings(const net::Rings& rings, std::int64_t speed) {
  if (!is_short(rings.rx, rings.rx_max) && !is_short(rings.tx, rings.tx_max)) {
    return Status::Pass;
  }
  const std::int64_t smallest =
      std::min(rings.rx.value_or(kLongestUsefulRing), rings.tx.value_or(kLongestUsefulRing));
  if (speed >= kVeryFastMbps || (speed >= kFastMbps && smallest < kSmallRing)) {
    return Status::Warning;
  }
  return speed >= kFastMbps || smallest < kTinyRing ? Status::Info : Status::Pass;
}

std::string ring_command(const std::string& interface, const net::Rings& rings) {
  std::string command = "ethtool -G " + interface;
  if (is_short(rings.rx, rings.rx_max)) {
    command += fmt::format(" rx {}", wanted_ring(rings.rx_max));
  }
  if (is_short(rings.tx, rings.tx_max)) {
    command += fmt::format(" tx {}", wanted_ring(rings.tx_max));
  }
  return command;
}

std::string or_question(std::optional<std::int64_t> value) {
  return value ? std::to_string(*value) : "?";
}

bool is_shaper(const std::string& kind) {
  return kind == "netem" || kind == "tbf" || kind == "htb" || kind == "hfsc" || kind == "cake";
}

bool is_fair(const std::string& kind) {
  return kind == "fq" || kind == "fq_codel" || kind == "fq_pie" || kind == "cake";
}

struct QueueCount {
  std::int64_t current;
  std::int64_t maximum;
  std::string_view name;  // as ethtool -L takes it
};

std::optional<QueueCount> receive_queues(const host::Nic& nic) {
  if (!nic.settings.channels) {
    return std::nullopt;
  }
  const net::Channels& channels = *nic.settings.channels;
  if (channels.combined_max.value_or(0) > 0) {
    return QueueCount{channels.combined.value_or(0), *channels.combined_max, "combined"};
  }
  if (channels.rx_max.value_or(0) > 0) {
    return QueueCount{channels.rx.value_or(0), *channels.rx_max, "rx"};
  }
  return std::nullopt;
}

}  // namespace

void check_settings_readable(const host::Network& network, const host::Nic& nic, Checks& checks) {
  const host::LinkAnswers& settings = nic.settings;
  if (!is_in_use(nic) || settings.rings || settings.channels || !settings.features.empty()) {
    return;
  }
  Check check =
      check_of("nic.settings", nic, "rings, queues, coalescing and offloads could not be read: ");
  check.status = Status::Unknown;
  check.why += network.query_problem.value_or("the driver does not answer");
  check.next_step = fmt::format("ethtool -g {0}; ethtool -l {0}; ethtool -k {0}", nic.name);
  checks.push_back(std::move(check));
}

void check_rings(const host::Nic& nic, Checks& checks) {
  if (!is_in_use(nic) || !nic.settings.rings || !nic.settings.rings->rx) {
    return;
  }
  const net::Rings& rings = *nic.settings.rings;
  Check check = check_of("nic.rings", nic,
                         "a burst that finds the receive ring full is dropped without a trace");
  check.found =
      fmt::format("rx {} of {}, tx {} of {}", or_question(rings.rx), or_question(rings.rx_max),
                  or_question(rings.tx), or_question(rings.tx_max));
  check.status = status_of_rings(rings, speed_or_zero(nic));
  if (check.status != Status::Pass) {
    check.wanted =
        fmt::format("rx {}, tx {}", wanted_ring(rings.rx_max), wanted_ring(rings.tx_max));
    check.next_step = ring_command(nic.name, rings);
  }
  checks.push_back(std::move(check));
}

void check_coalescing(const host::Nic& nic, Checks& checks) {
  const auto& coalescing = nic.settings.coalescing;
  if (!is_in_use(nic) || speed_or_zero(nic) < kFastMbps || !coalescing ||
      !coalescing->adaptive_rx) {
    return;
  }
  Check check = check_of("nic.coalescing", nic,
                         "an interrupt for each packet costs a CPU; long waits cost latency");
  const std::int64_t usecs = coalescing->rx_usecs.value_or(0);
  check.found =
      fmt::format("adaptive rx {}, {} us", *coalescing->adaptive_rx ? "on" : "off", usecs);
  if (!*coalescing->adaptive_rx) {
    const bool each_packet = usecs <= 1 && coalescing->rx_frames.value_or(0) <= 1;
    check.status = each_packet ? Status::Warning : Status::Info;
    check.wanted = "adaptive rx on";
    check.next_step = fmt::format("ethtool -C {} adaptive-rx on", nic.name);
  }
  checks.push_back(std::move(check));
}

void check_qdisc(const host::Nic& nic, Checks& checks) {
  const std::vector<std::string>& qdiscs = nic.settings.qdiscs;
  if (!is_in_use(nic) || qdiscs.empty()) {
    return;
  }
  Check check =
      check_of("nic.qdisc", nic, "fair queues keep one flow's burst from delaying others");
  check.found = fmt::format("{}", fmt::join(qdiscs, " "));
  const std::int64_t speed = speed_or_zero(nic);
  if (std::ranges::any_of(qdiscs, is_shaper)) {
    check.status = Status::Warning;
    check.why = "a shaper or emulator holds this port below its speed";
    check.wanted = "fq or fq_codel";
    check.next_step = fmt::format("tc -s qdisc show dev {}", nic.name);
  } else if (speed >= kFastMbps && std::ranges::none_of(qdiscs, is_fair)) {
    check.status = speed >= kVeryFastMbps ? Status::Warning : Status::Info;
    check.wanted = "fq or fq_codel";
    check.next_step =
        fmt::format("sysctl -w net.core.default_qdisc=fq; tc qdisc replace dev {} root {}",
                    nic.name, nic.tx_queues > 1 ? "mq" : "fq");
  }
  checks.push_back(std::move(check));
}

void check_queues(const host::Network& network, const host::Nic& nic, Checks& checks) {
  const std::optional<QueueCount> queues = receive_queues(nic);
  if (!is_in_use(nic) || speed_or_zero(nic) < kFastMbps || !queues || network.cpus == 0) {
    return;
  }
  Check check =
      check_of("nic.queues", nic,
               "each receive queue is drained by one CPU, and one CPU drains 10 to 30 Gb/s");
  check.found = fmt::format("{} of {}", queues->current, queues->maximum);
  const std::int64_t possible = std::min<std::int64_t>(queues->maximum, network.cpus);
  const std::int64_t needed = speed_or_zero(nic) >= kVeryFastMbps
                                  ? std::min(possible, kEnoughQueues)
                                  : std::min<std::int64_t>(possible, 2);
  if (queues->current < needed) {
    check.status = nic.rps_queues > 0 ? Status::Info : Status::Warning;
    check.wanted = fmt::format("at least {}", needed);
    check.next_step = fmt::format("ethtool -L {} {} {}", nic.name, queues->name, possible);
  }
  checks.push_back(std::move(check));
}

}  // namespace chokepoint::probe
