#include "probe/host/tcp_buffer_checks.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/math/units.h"

namespace chokepoint::probe {
namespace {

constexpr double kLanMs = 0.1;
constexpr double kRegionMs = 15;
constexpr double kContinentMs = 80;
constexpr int kMeasuresItsShare = 6006;  // Linux 6.6
constexpr double kSendShare = 2.0 / 3;
constexpr std::int64_t kMebibyte = 1 << 20;

// What perfSONAR recommends for hosts on long paths: beyond it, more flows serve better.
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

// One direction's settings and what is known of them.
struct Side {
  const char* id;
  const char* flow;    // the sysctl with three values
  const char* socket;  // the sysctl that caps what a program may ask for
  WindowRule rule;
};

std::string rate_text(double mbps) { return math::format_rate(mbps * 1e6); }

std::string found_text(double buffer, double window) {
  return fmt::format("{}; one flow at most {} at {} ms, {} at {} ms, {} at {} ms",
                     math::format_bytes(buffer), rate_text(flow_mbps(window, kLanMs)), kLanMs,
                     rate_text(flow_mbps(window, kRegionMs)), kRegionMs,
                     rate_text(flow_mbps(window, kContinentMs)), kContinentMs);
}

std::string command_for(const Side& side, const host::Sysctls& sysctls,
                        const Recommended& recommended) {
  const std::string all = sysctls.text(side.flow).value_or("4096 131072 0");
  const std::string kept = all.substr(0, all.find_last_of(' '));
  return fmt::format("sysctl -w {}={} {}='{} {}'", side.socket, recommended.socket_bytes, side.flow,
                     kept, recommended.flow_bytes);
}

Status status_of(double buffer, double window, double link, const Recommended& recommended) {
  if (flow_mbps(window, kLanMs) < link) {
    return Status::Warning;
  }
  if (buffer >= static_cast<double>(recommended.flow_bytes) ||
      flow_mbps(window, kContinentMs) >= link) {
    return Status::Pass;
  }
  return flow_mbps(window, kRegionMs) < link ? Status::Warning : Status::Info;
}

std::string why_text(const Side& side, std::optional<double> fastest, double window) {
  if (!fastest) {
    return fmt::format("the window is {}; no link tells its speed, so nothing is asked for",
                       side.rule.text);
  }
  const double reach_ms = window * 8 / (*fastest * 1e6) * 1e3;
  return fmt::format(
      "the window is {}: one flow fills {} up to {:.2g} ms round trip, beyond that "
      "it is held back on a path without loss",
      side.rule.text, rate_text(*fastest), reach_ms);
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

WindowRule receive_rule(const host::Kernel& kernel, const host::Sysctls& sysctls) {
  const std::optional<int> release = release_number(kernel);
  if (release && *release >= kMeasuresItsShare) {
    return {.share = 0.5,
            .text = "about half of the buffer (Linux 6.6 and newer measure the share)"};
  }
  const std::int64_t scale = sysctls.number("net.ipv4.tcp_adv_win_scale").value_or(1);
  const double share = scale > 0 ? 1 - std::exp2(-static_cast<double>(scale))
                                 : std::exp2(static_cast<double>(scale));
  return {.share = share,
          .text = fmt::format("{:.0f} % of the buffer (tcp_adv_win_scale {})", 100 * share, scale)};
}

double flow_mbps(double window_bytes, double rtt_ms) { return window_bytes * 8 / rtt_ms / 1e3; }

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
              .rule = {.share = kSendShare,
                       .text = "two thirds of the buffer, at which a waiting writer is woken"}},
             sysctls, fastest_mbps, checks);
  check_socket_limit(sysctls, fastest_mbps, checks);
}

}  // namespace chokepoint::probe
