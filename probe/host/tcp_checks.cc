#include "probe/host/tcp_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace chokepoint::probe {
namespace {

constexpr double kFast = 10'000;       // Mb/s from which the advice of research networks applies
constexpr double kVeryFast = 100'000;  // Mb/s
constexpr std::int64_t kJumbo = 8000;
constexpr std::int64_t kLongBacklog = 250'000;

// A setting that has one right value.
struct Switch {
  const char* id;
  const char* name;
  std::int64_t wanted;
  Status otherwise;
  const char* why;
};

constexpr std::array kSwitches = {
    Switch{"tcp.window-scaling", "net.ipv4.tcp_window_scaling", 1, Status::Critical,
           "without it no window exceeds 64 KiB: 35 Mb/s at 15 ms, whatever the link"},
    Switch{"tcp.sack", "net.ipv4.tcp_sack", 1, Status::Warning,
           "without selective acknowledgements one loss costs a round trip for every lost packet"},
    Switch{"tcp.timestamps", "net.ipv4.tcp_timestamps", 1, Status::Warning,
           "without timestamps round trips are measured rarely and 32-bit sequence numbers wrap "
           "within seconds at 10 Gb/s and more"},
    Switch{"tcp.receive-autotuning", "net.ipv4.tcp_moderate_rcvbuf", 1, Status::Warning,
           "without it the receive buffer stays at tcp_rmem's default and the window with it"},
    Switch{"tcp.idle-restart", "net.ipv4.tcp_slow_start_after_idle", 0, Status::Info,
           "training is silent while it computes: after a pause longer than the retransmission "
           "timeout a flow starts over with a small window, at every step"},
    Switch{"tcp.metrics", "net.ipv4.tcp_no_metrics_save", 1, Status::Info,
           "the kernel remembers a path's bad moment and starts later flows slower"},
};

Check unknown(std::string id, const std::string& name, std::string why) {
  return {.id = std::move(id),
          .status = Status::Unknown,
          .subject = "host",
          .why = std::move(why),
          .next_step = "sysctl " + name};
}

void check_switch(const Switch& one, const host::Sysctls& sysctls, Checks& checks) {
  const std::optional<std::int64_t> value = sysctls.number(one.name);
  if (!value) {
    checks.push_back(unknown(one.id, one.name, one.why));
    return;
  }
  // Switches may have values beyond 1 (timestamps 2, moderate_rcvbuf): on in their own way.
  const bool right = one.wanted == 0 ? *value == 0 : *value != 0;
  checks.push_back({.id = one.id,
                    .status = right ? Status::Pass : one.otherwise,
                    .subject = "host",
                    .found = std::to_string(*value),
                    .wanted = std::to_string(one.wanted),
                    .why = one.why,
                    .next_step = fmt::format("sysctl -w {}={}", one.name, one.wanted)});
}

// Sources disagree on which is best; that these serve long fast paths none of them doubts.
bool suits_long_paths(std::string_view congestion_control) {
  constexpr std::array<std::string_view, 4> kSuited = {"cubic", "htcp", "bbr", "bbr2"};
  return congestion_control == "bbr3" ||
         std::ranges::find(kSuited, congestion_control) != kSuited.end();
}

void check_congestion(const host::Sysctls& sysctls, Checks& checks) {
  constexpr const char* kName = "net.ipv4.tcp_congestion_control";
  const std::optional<std::string> used = sysctls.text(kName);
  const char* why = "decides how fast a flow grows and how much it yields to a loss";
  if (!used) {
    checks.push_back(unknown("tcp.congestion", kName, why));
    return;
  }
  Check check{
      .id = "tcp.congestion",
      .subject = "host",
      .found = fmt::format("{} (available: {})", *used,
                           sysctls.text("net.ipv4.tcp_available_congestion_control").value_or("?")),
      .wanted = "cubic, htcp or bbr",
      .why = why};
  if (*used == "dctcp") {
    check.status = Status::Info;
    check.why = "made for fabrics that mark packets (ECN); on a path that does not it is reno";
  } else if (!suits_long_paths(*used)) {
    check.status = Status::Warning;
    check.why = "grows by one segment a round trip or yields to others: slow on long fast paths";
    check.next_step = fmt::format("sysctl -w {}=cubic", kName);
  }
  checks.push_back(std::move(check));
}

void check_qdisc(const host::Sysctls& sysctls, const host::Links& links, Checks& checks) {
  constexpr const char* kName = "net.core.default_qdisc";
  const std::optional<std::string> used = sysctls.text(kName);
  const char* why =
      "paces flows and keeps one from filling the queue for the others; 'tc qdisc' "
      "shows what an interface has";
  if (!used) {
    checks.push_back(unknown("tcp.qdisc", kName, why));
    return;
  }
  const bool fair = *used == "fq" || *used == "fq_codel";
  const bool fast = links.fastest_mbps.value_or(0) >= kFast;
  checks.push_back({.id = "tcp.qdisc",
                    .status = fair   ? Status::Pass
                              : fast ? Status::Warning
                                     : Status::Info,
                    .subject = "host",
                    .found = *used,
                    .wanted = "fq or fq_codel",
                    .why = why,
                    .next_step = fmt::format("sysctl -w {}=fq", kName)});
}

void check_mtu_probing(const host::Sysctls& sysctls, const host::Links& links, Checks& checks) {
  constexpr const char* kName = "net.ipv4.tcp_mtu_probing";
  const std::optional<std::int64_t> value = sysctls.number(kName);
  const std::int64_t mtu = links.largest_mtu_bytes.value_or(0);
  const char* why =
      "a path with a smaller MTU that sends no ICMP swallows large packets: the "
      "connection opens and then stands still";
  if (!value) {
    checks.push_back(unknown("tcp.mtu-probing", kName, why));
    return;
  }
  checks.push_back({.id = "tcp.mtu-probing",
                    .status = *value == 0 && mtu > kJumbo ? Status::Warning : Status::Pass,
                    .subject = "host",
                    .found = std::to_string(*value),
                    .wanted = mtu > kJumbo ? fmt::format("1, as an MTU is {}", mtu) : "",
                    .why = why,
                    .next_step = fmt::format("sysctl -w {}=1", kName)});
}

void check_backlog(const host::Sysctls& sysctls, const host::Links& links, Checks& checks) {
  constexpr const char* kName = "net.core.netdev_max_backlog";
  const std::optional<std::int64_t> value = sysctls.number(kName);
  if (!value || links.fastest_mbps.value_or(0) < kVeryFast) {
    return;
  }
  checks.push_back({.id = "tcp.backlog",
                    .status = *value < kLongBacklog ? Status::Info : Status::Pass,
                    .subject = "host",
                    .found = std::to_string(*value),
                    .wanted = fmt::format("{} at 100 Gb/s", kLongBacklog),
                    .why = "packets that are steered to another processor wait here; "
                           "/proc/net/softnet_stat counts those dropped",
                    .next_step = fmt::format("sysctl -w {}={}", kName, kLongBacklog)});
}

}  // namespace

void check_tcp(const host::Sysctls& sysctls, const host::Links& links, Checks& checks) {
  for (const Switch& one : kSwitches) {
    check_switch(one, sysctls, checks);
  }
  check_congestion(sysctls, checks);
  check_qdisc(sysctls, links, checks);
  check_mtu_probing(sysctls, links, checks);
  check_backlog(sysctls, links, checks);
}

}  // namespace chokepoint::probe
