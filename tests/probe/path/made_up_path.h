// A path of routers that exists on paper only: a Prober that answers as they would, on a clock that
// moves when somebody waits. Addresses are 10.0.<ttl>.2; the target is the last.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "probe/path/trace.h"
#include "tests/fakes/manual_clock.h"

namespace chokepoint::probe::path::made_up {

inline net::Address at(const std::string& text) { return net::Address::parse(text).value(); }
inline net::Address router(int ttl) { return at("10.0." + std::to_string(ttl) + ".2"); }

class Path final : public Prober {
 public:
  Path(int length, fakes::ManualClock& clock) : length_(length), clock_(clock) {}

  std::int64_t hop_ns = 1'000'000;  // of round trip, for every hop
  std::set<int> silent;             // hops that never answer
  std::set<int> rations;            // hops that answer every third probe only
  std::set<std::uint32_t> lost;     // probes that vanish
  bool quotes_eight_bytes = false;  // answers do not tell which probe they are about
  std::optional<Unreachable> refuses_at_last = {};
  std::vector<ProbePacket> shots;
  int most_in_flight = 0;

  Result<> send(const ProbePacket& packet) override {
    shots.push_back(packet);
    const int ttl = std::min(packet.ttl, length_);
    const bool rationed = rations.contains(ttl) && asked_[ttl]++ % 3 != 0;
    if (!silent.contains(ttl) && !rationed && !lost.contains(packet.sequence)) {
      coming_.push_back(answer_to(packet, ttl));
      most_in_flight = std::max(most_in_flight, static_cast<int>(coming_.size()));
    }
    return {};
  }

  Result<std::vector<Reply>> collect(std::chrono::nanoseconds wait) override {
    const std::int64_t until = clock_.monotonic_ns() + wait.count();
    const auto first = std::ranges::min_element(coming_, {}, &Reply::received_ns);
    const std::int64_t wakes = first == coming_.end() ? until : std::min(until, first->received_ns);
    clock_.advance(std::max<std::int64_t>(wakes - clock_.monotonic_ns(), 0));
    std::vector<Reply> here;
    std::erase_if(coming_, [&](const Reply& reply) {
      const bool arrived = reply.received_ns <= clock_.monotonic_ns();
      if (arrived) {
        here.push_back(reply);
      }
      return arrived;
    });
    return here;
  }

  void abandon(std::uint32_t /*sequence*/) override {}

 private:
  Reply answer_to(const ProbePacket& packet, int ttl) const {
    Reply reply{.kind = ttl == length_ ? ReplyKind::Reached : ReplyKind::Expired,
                .from = router(ttl),
                .received_ns = clock_.monotonic_ns() + hop_ns * ttl};
    if (!quotes_eight_bytes) {
      reply.sequence = packet.sequence;
    }
    if (ttl == length_ && refuses_at_last) {
      reply.kind = ReplyKind::Unreachable;
      reply.reason = refuses_at_last;
    }
    return reply;
  }

  int length_;
  fakes::ManualClock& clock_;
  std::vector<Reply> coming_;
  std::map<int, int> asked_;
};

}  // namespace chokepoint::probe::path::made_up
