#include "probe/host/tcp_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/math/tcp_rate.h"
#include "base/math/units.h"

namespace chokepoint::probe {
namespace {

// ESnet's advice on buffers and backlogs is for hosts with links of 100 Gb/s (fasterdata.es.net).
constexpr double kNeedsBacklogMbps = 100'000;
constexpr std::int64_t kLongBacklog = 250'000;
// Round trips of typical paths.
constexpr double kLanMs = 0.1;
constexpr double kRegionMs = 15;
constexpr double kContinentMs = 80;
constexpr int kMeasuresShareSince = 6006;  // Linux 6.6
constexpr std::int64_t kMebibyte = 1 << 20;

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
  // Some switches have values beyond 1 (timestamps 2): these are on, too.
  const bool right = one.wanted == 0 ? *value == 0 : *value != 0;
  checks.push_back({.id = one.id,
                    .status = right ? Status::Pass : one.otherwise,
                    .subject = "host",
                    .found = std::to_string(*value),
                    .wanted = std::to_string(one.wanted),
                    .why = one.why,
                    .next_step = fmt::format("sysctl -w {}={}", one.name, one.wanted)});
}

// Sources disagree on which is best, but agree that these serve long fast paths.
bool suits_long_paths(std::string_view congestion_control) {
  constexpr std::array<std::string_view, 5> kSuited = {"cubic", "htcp", "bbr", "bbr2", "bbr3"};
  return std::ranges::find(kSuited, congestion_control) != kSuited.end();
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
  const bool fast = links.fastest_mbps.value_or(0) >= static_cast<double>(kFastMbps);
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
      "a path with a smaller MTU that sends no ICMP drops large packets: the connection "
      "opens and then stalls";
  if (!value) {
    checks.push_back(unknown("tcp.mtu-probing", kName, why));
    return;
  }
  checks.push_back({.id = "tcp.mtu-probing",
                    .status = *value == 0 && mtu > kJumboMtu ? Status::Warning : Status::Pass,
                    .subject = "host",
                    .found = std::to_string(*value),
                    .wanted = mtu > kJumboMtu ? fmt::format("1, as an MTU is {}", mtu) : "",
                    .why = why,
                    .next_step = fmt::format("sysctl -w {}=1", kName)});
}

void check_backlog(const host::Sysctls& sysctls, const host::Links& links, Checks& checks) {
  constexpr const char* kName = "net.core.netdev_max_backlog";
  const std::optional<std::int64_t> value = sysctls.number(kName);
  if (!value || links.fastest_mbps.value_or(0) < kNeedsBacklogMbps) {
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

// perfSONAR's recommendation for hosts on long paths; beyond it several flows are better.
struct Recommended {
  double from_mbps;
  std::int64_t socket_bytes;  // rmem_max, wmem_max
  std::int64_t flow_bytes;    // the third of tcp_rmem, tcp_wmem
};

constexpr std::array kRecommended = {
    Recommended{40'000, 512 * kMebibyte, 256 * kMebibyte},
    Recommended{10'000, 256 * kMebibyte, 128 * kMebibyte},
    Recommended{0, 64 * kMebibyte, 32 * kMebibyte},
};

const Recommended& recommended_for(double mbps) {
  for (const Recommended& one : kRecommended) {
    if (mbps >= one.from_mbps) {
      return one;
    }
  }
  return kRecommended.back();
}

// The settings of one direction.
struct Side {
  const char* id;
  const char* flow;    // the sysctl with three values
  const char* socket;  // the sysctl that caps what a program may ask for
  WindowRule rule;
};

std::string rate_text(double mbps) { return math::format_rate(mbps * 1e6); }

std::string found_text(double buffer, double window) {
  return fmt::format("{}; one flow at most {} at {}, {} at {} ms, {} at {} ms",
                     math::format_bytes(buffer), rate_text(math::window_mbps(window, kLanMs)),
                     math::format_ms(kLanMs), rate_text(math::window_mbps(window, kRegionMs)),
                     kRegionMs, rate_text(math::window_mbps(window, kContinentMs)), kContinentMs);
}

std::string command_for(const Side& side, const host::Sysctls& sysctls,
                        const Recommended& recommended) {
  const std::string all = sysctls.text(side.flow).value_or("4096 131072 0");
  const std::string kept = all.substr(0, all.find_last_of(' '));
  return fmt::format("sysctl -w {}={} {}='{} {}'", side.socket, recommended.socket_bytes, side.flow,
                     kept, recommended.flow_bytes);
}

Status status_of(double buffer, double window, double link, const Recommended& recommended) {
  if (math::window_mbps(window, kLanMs) < link) {
    return Status::Warning;
  }
  if (buffer >= static_cast<double>(recommended.flow_bytes) ||
      math::window_mbps(window, kContinentMs) >= link) {
    return Status::Pass;
  }
  return math::window_mbps(window, kRegionMs) < link ? Status::Warning : Status::Info;
}

std::string why_text(const Side& side, std::optional<double> fastest, double window) {
  if (!fastest) {
    return fmt::format("the window is {}; no link reports its speed, so no size is recommended",
                       side.rule.text);
  }
  const double reach_ms = window * 8 / (*fastest * 1e6) * 1e3;
  return fmt::format(
      "the window is {}: one flow fills {} up to {} round trip, beyond that "
      "it is held back on a path without loss",
      side.rule.text, rate_text(*fastest), math::format_ms(reach_ms));
}

void check_side(const Side& side, const host::Sysctls& sysctls, std::optional<double> fastest,
                Checks& checks) {
  Check check{.id = side.id, .subject = "host"};
  const std::optional<std::int64_t> most = sysctls.most(side.flow);
  if (!most) {
    check.status = Status::Unknown;
    check.why = "how large one flow's window may become could not be read";
    check.next_step = fmt::format("sysctl {}", side.flow);
    checks.push_back(std::move(check));
    return;
  }
  const double buffer = static_cast<double>(*most);
  const double window = buffer * side.rule.share;
  check.found = found_text(buffer, window);
  check.why = why_text(side, fastest, window);
  if (fastest) {
    const Recommended& recommended = recommended_for(*fastest);
    check.status = status_of(buffer, window, *fastest, recommended);
    check.wanted = math::format_bytes(static_cast<double>(recommended.flow_bytes));
    check.next_step = command_for(side, sysctls, recommended);
  } else {
    check.status = Status::Info;
  }
  checks.push_back(std::move(check));
}

void check_socket_limit(const host::Sysctls& sysctls, std::optional<double> fastest,
                        Checks& checks) {
  const std::optional<std::int64_t> receive = sysctls.number("net.core.rmem_max");
  const std::optional<std::int64_t> send = sysctls.number("net.core.wmem_max");
  if (!receive || !send || !fastest) {
    return;
  }
  const std::int64_t wanted = recommended_for(*fastest).socket_bytes;
  const bool small = *receive < wanted || *send < wanted;
  checks.push_back(
      {.id = "tcp.socket-buffer",
       .status = small ? Status::Info : Status::Pass,
       .subject = "host",
       .found =
           fmt::format("receive {}, send {}", math::format_bytes(static_cast<double>(*receive)),
                       math::format_bytes(static_cast<double>(*send))),
       .wanted = math::format_bytes(static_cast<double>(wanted)),
       .why = "programs that set their buffers themselves get no more than this; all others are "
              "sized by the kernel and do not meet this limit",
       .next_step = fmt::format("sysctl -w net.core.rmem_max={0} net.core.wmem_max={0}", wanted)});
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

WindowRule receive_rule(const host::Kernel& kernel, const host::Sysctls& sysctls) {
  const std::optional<int> release = release_number(kernel);
  if (release && *release >= kMeasuresShareSince) {
    return {.share = math::kReceiveBufferShare,
            .text = "about half of the buffer (Linux 6.6 and newer measure the share)"};
  }
  const std::int64_t scale = sysctls.number("net.ipv4.tcp_adv_win_scale").value_or(1);
  const double share = scale > 0 ? 1 - std::exp2(-static_cast<double>(scale))
                                 : std::exp2(static_cast<double>(scale));
  return {.share = share,
          .text = fmt::format("{:.0f} % of the buffer (tcp_adv_win_scale {})", 100 * share, scale)};
}

void check_tcp_buffers(const host::Kernel& kernel, const host::Sysctls& sysctls,
                       std::optional<double> fastest_mbps, Checks& checks) {
  check_side({.id = "tcp.receive-buffer",
              .flow = "net.ipv4.tcp_rmem",
              .socket = "net.core.rmem_max",
              .rule = receive_rule(kernel, sysctls)},
             sysctls, fastest_mbps, checks);
  check_side({.id = "tcp.send-buffer",
              .flow = "net.ipv4.tcp_wmem",
              .socket = "net.core.wmem_max",
              .rule = {.share = math::kSendBufferShare,
                       .text = "two thirds of the buffer, at which a waiting writer is woken"}},
             sysctls, fastest_mbps, checks);
  check_socket_limit(sysctls, fastest_mbps, checks);
}

}  // namespace chokepoint::probe
