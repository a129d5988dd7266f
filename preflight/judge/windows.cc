#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/math/tcp_rate.h"
#include "base/math/units.h"
#include "preflight/judge/figure_text.h"
#include "preflight/judge/findings.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;

// The rate that a buffer allows is an estimate; the evidence is the time that the flow waited. With
// small buffers the kernel lets several times the estimate through: a flow is not bound by its
// buffer if its rate is more than this many times the allowed one.
constexpr double kMaxRateToAllowed = 8;
// Upper bound: a buffer that allows this many times the rate was full because its reader was slow,
// not because it is small.
constexpr double kMaxAllowedToRate = 6;
constexpr double kMiB = 1024.0 * 1024.0;
// Advised, at the least, if the rate that the flow should reach is not known: the receive window of
// 32 MiB carries 10 Gb/s at a round trip of 27 ms.
constexpr double kAdvisedBufferBytes = 64 * kMiB;

struct Side {
  const char* sysctl = "";
  const char* least = "";  // its first two values, as Linux sets them
  double share = 0;
  bool receives = false;
};

constexpr Side kReceive = {"net.ipv4.tcp_rmem", "4096 131072", math::kReceiveBufferShare, true};
constexpr Side kSend = {"net.ipv4.tcp_wmem", "4096 16384", math::kSendBufferShare, false};

// What one host's buffer of one kind holds back.
struct Held {
  std::optional<double> bytes = {};
  double needed = 0;
  std::vector<PathIndex> paths = {};
};

struct HeldHost {
  Held receive = {};
  Held send = {};
};

// Hosts whose buffers are alike are one finding.
using Alike = std::pair<std::optional<double>, std::optional<double>>;

struct HeldHosts {
  std::vector<HostIndex> hosts = {};
  HeldHost held = {};
};

void merge(const Held& from, Held& to) {
  to.bytes = from.paths.empty() ? to.bytes : from.bytes;
  to.needed = std::max(to.needed, from.needed);
  to.paths.insert(to.paths.end(), from.paths.begin(), from.paths.end());
}

// What the kernel makes of a buffer: the window that was seen, where it is larger than reckoned;
// and a sender's buffer takes one more whole chunk while there is any room.
double window_of(double buffer, const Side& side, const PathResult& path) {
  constexpr double kChunk = 65536;
  return side.receives ? std::max(buffer * side.share,
                                  static_cast<double>(path.largest_window_bytes.value_or(0)))
                       : buffer * side.share + kChunk;
}

class Windows {
 public:
  explicit Windows(JudgeContext& context) : context_(context) {}

  void run();

 private:
  std::optional<double> target_of(const DirectedPath& path) const;
  bool waits(Figure share) const;
  void learn_free_rates();
  void look_at(PathIndex index, const DirectedPath& path);
  void look_at(PathIndex index, const DirectedPath& path, const Side& side, Figure waited,
               HostIndex owner);
  std::optional<double> buffer_of(HostIndex host, const Side& side) const;
  void report(const HeldHosts& held);

  JudgeContext& context_;
  std::array<std::optional<double>, 2> free_mbps_ = {};  // of a local network, of a WAN
  std::map<HostIndex, HeldHost> held_ = {};
  std::size_t looked_at_ = 0;
};

// What the flow could have reached with large enough buffers. A WAN may carry less than the ports,
// but a buffer that keeps a flow from filling them is too small all the same.
std::optional<double> Windows::target_of(const DirectedPath& path) const {
  const Expectation expected = context_.expectations.of(path);
  if (context_.input.is_wan(path) && !context_.input.limits().wan_rate_mbps) {
    const Expectation from = context_.expectations.of_host(path.from);
    const Expectation to = context_.expectations.of_host(path.to);
    if (from.basis != Basis::Nothing && to.basis != Basis::Nothing) {
      return std::min(from.mbps, to.mbps);
    }
  }
  // The best of a few may be held back itself.
  if (expected.basis == Basis::Few) {
    return free_mbps_.at(context_.input.is_wan(path) ? 1 : 0);
  }
  return expected.mbps > 0 ? std::optional(expected.mbps) : std::nullopt;
}

bool Windows::waits(Figure share) const {
  return share && *share >= context_.input.limits().window_share;
}

// What flows reach that wait for no buffer.
void Windows::learn_free_rates() {
  for (const DirectedPath& path : context_.input.paths()) {
    const Figure rate = rate_of(*path.result);
    if (rate && *rate > 0 && !waits(path.result->window_share) &&
        !waits(path.result->send_buffer_share)) {
      std::optional<double>& most = free_mbps_.at(context_.input.is_wan(path) ? 1 : 0);
      most = std::max<double>(most.value_or(0), *rate);
    }
  }
}

std::optional<double> Windows::buffer_of(HostIndex host, const Side& side) const {
  const auto& facts = context_.input.host(host).facts;
  if (!facts) {
    return std::nullopt;
  }
  const auto bytes = side.receives ? facts->receive_buffer_bytes : facts->send_buffer_bytes;
  return bytes && *bytes > 0 ? std::optional(static_cast<double>(*bytes)) : std::nullopt;
}

void Windows::look_at(PathIndex index, const DirectedPath& path, const Side& side, Figure waited,
                      HostIndex owner) {
  const double rate = *rate_of(*path.result);
  const double rtt_s = path.pair->rtt_min_ms.value_or(*path.pair->rtt_ms) / 1e3;
  const std::optional<double> target = target_of(path);
  const std::optional<double> buffer = buffer_of(owner, side);
  const double allowed = buffer ? window_of(*buffer, side, *path.result) * 8 / 1e6 / rtt_s : 0;
  // A local flow that waits is not known to be slow, unless another flow does not wait.
  if (!waits(waited) || (!target && !context_.input.is_wan(path))) {
    return;
  }
  if (target && rate >= context_.input.limits().link_share * *target) {
    return;
  }
  if (buffer && (rate > kMaxRateToAllowed * allowed || (target && allowed >= *target) ||
                 allowed > kMaxAllowedToRate * rate)) {
    return;
  }
  Held& held = side.receives ? held_[owner].receive : held_[owner].send;
  held.bytes = buffer;
  const double needed = target ? *target * 1e6 / 8 * rtt_s / side.share
                               : std::max(kAdvisedBufferBytes, 2 * buffer.value_or(0));
  held.needed = std::max(held.needed, needed);
  held.paths.push_back(index);
}

void Windows::look_at(PathIndex index, const DirectedPath& path) {
  if (!rate_of(*path.result) || !path.pair->rtt_ms || *path.pair->rtt_ms <= 0 ||
      path.pair->rtt_min_ms.value_or(1) <= 0) {
    return;
  }
  ++looked_at_;
  look_at(index, path, kReceive, path.result->window_share, path.to);
  look_at(index, path, kSend, path.result->send_buffer_share, path.from);
}

std::string setting(const Side& side, double needed) {
  return fmt::format("{}='{} {:.0f}'", side.sysctl, side.least, std::ceil(needed / kMiB) * kMiB);
}

std::string bytes_words(const std::optional<double>& bytes) {
  return bytes ? math::format_bytes(*bytes) : "not known";
}

void add(const JudgeContext& context, const Side& side, const Held& held, Finding& finding) {
  if (held.paths.empty()) {
    return;
  }
  const DirectedPath& path = context.input.paths()[held.paths[0]];
  checks::Check& check = finding.check;
  const bool first = check.found.empty();
  check.subject += fmt::format("{}{}", first ? " " : ", ", side.sysctl);
  check.found += fmt::format("{}{} at most, {} {}", first ? "" : "; ", bytes_words(held.bytes),
                             rate_words(*rate_of(*path.result)), words_for(context.input, path));
  check.wanted += fmt::format("{}{}", first ? "" : "; ", math::format_bytes(held.needed));
  check.next_step += (first ? "sysctl -w " : " ") + setting(side, held.needed);
  const Figure waited = side.receives ? path.result->window_share : path.result->send_buffer_share;
  finding.evidence.push_back(
      {fmt::format("time spent waiting for the {} {}", side.receives ? "window" : "send buffer",
                   words_for(context.input, path)),
       100.0 * waited.value_or(0), "%", "probe tcp"});
  finding.evidence.push_back(
      {"round trip " + words_for(context.input, path), *path.pair->rtt_ms, "ms", "probe latency"});
  if (held.bytes) {
    finding.evidence.push_back({side.sysctl, *held.bytes, "bytes", "facts"});
  }
  add_paths(context.input, held.paths, finding);
}

void Windows::report(const HeldHosts& together) {
  const HeldHost& held = together.held;
  Finding finding{.check = {.id = "path.window",
                            .status = Status::Critical,
                            .subject = names_of(context_.input, together.hosts)},
                  .place = Place::Host,
                  .hosts = together.hosts};
  add(context_, kReceive, held.receive, finding);
  add(context_, kSend, held.send, finding);
  finding.check.why = "a flow carries at most one window a round trip, and this buffer bounds it";
  finding.check.next_step =
      on_host(context_.input.name(together.hosts[0]), finding.check.next_step);
  const std::string others = same_on_others(context_.input, together.hosts);
  finding.check.next_step =
      with_note(finding.check.next_step,
                others + (others.empty() ? "" : "; ") + "for good: the same in /etc/sysctl.d");
  context_.explain(held.receive.paths);
  context_.explain(held.send.paths);
  context_.add(std::move(finding));
}

void Windows::run() {
  learn_free_rates();
  for (PathIndex index = 0; index < context_.input.paths().size(); ++index) {
    look_at(index, context_.input.paths()[index]);
  }
  std::map<Alike, HeldHosts> together;
  for (const auto& [host, held] : held_) {
    HeldHosts& all = together[{buffer_of(host, kReceive), buffer_of(host, kSend)}];
    all.hosts.push_back(host);
    merge(held.receive, all.held.receive);
    merge(held.send, all.held.send);
  }
  for (const auto& [key, held] : together) {
    report(held);
  }
  if (held_.empty() && looked_at_ > 0) {
    context_.pass("path.window", fmt::format("no buffer holds back any of {}",
                                             counted(looked_at_, "path", "paths")));
  }
}

}  // namespace

void judge_windows(JudgeContext& context) { Windows(context).run(); }

}  // namespace chokepoint::preflight
