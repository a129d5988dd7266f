// The passive side of a bandwidth test that sends: receives until all came, or until it is told
// that no more will come. A template over the endpoint. One thread, which it blocks.
#pragma once

#include "rdma/perf/meter.h"
#include "rdma/perf/pulse.h"
#include "rdma/perf/receiver.h"
#include "rdma/perf/vigil.h"

namespace chokepoint::rdma::perf {

template <class Endpoint>
class BandwidthReceiver {
 public:
  BandwidthReceiver(Endpoint& endpoint, const Side& side, const Plan& plan, const Layout& layout,
                    Verifier* verifier)
      : endpoint_(endpoint),
        plan_(plan),
        layout_(layout),
        receiver_(endpoint, layout, side.peer, verifier),
        vigil_(side.attention),
        warm_(plan.warm_up * static_cast<std::uint64_t>(layout.queues)),
        all_(plan.iterations ? warm_ + *plan.iterations * static_cast<std::uint64_t>(layout.queues)
                             : UINT64_MAX) {}

  Result<Outcome> run() {
    last_ = monotonic_ns();
    while (receiver_.received() < all_) {
      const bool came = receiver_.collect();
      if (receiver_.failed()) {
        return fail(receiver_.error());
      }
      if (came && !meter_.begun() && receiver_.received() > warm_) {
        meter_.begin(monotonic_ns(), receiver_.received());
      }
      if (!came && plan_.events) {
        (void)endpoint_.wait_receives(net::Patience::of(kSleep));
        pulse_.hurry();
      } else if (came && plan_.check) {
        pulse_.hurry();  // to look at messages takes long
      }
      if (!pulse_.due()) {
        continue;
      }
      TRY(const auto go_on, look(pulse_.read()));
      if (!go_on) {
        break;
      }
    }
    if (meter_.begun()) {
      meter_.sample(monotonic_ns(), receiver_.received());
    }
    return outcome();
  }

 private:
  static constexpr std::chrono::milliseconds kSleep{2};
  // What is still on its way when the sender says that it is done.
  static constexpr std::int64_t kQuiet = 20 * kMillisecond;

  Result<bool> look(std::int64_t now) {
    if (receiver_.received() != seen_) {
      seen_ = receiver_.received();
      last_ = now;
    }
    if (meter_.begun()) {
      meter_.sample(now, seen_);
    }
    const auto go_on = vigil_.at(now);
    return !go_on || *go_on ? go_on : Result<bool>(now - last_ < kQuiet);
  }

  Outcome outcome() const {
    Outcome outcome{.messages = receiver_.received() - std::min(receiver_.received(), warm_)};
    outcome.bytes = outcome.messages * layout_.message_bytes;
    meter_.fill(outcome, layout_.message_bytes);
    return outcome;
  }

  Endpoint& endpoint_;
  const Plan& plan_;
  const Layout& layout_;
  Receiver<Endpoint> receiver_;
  StopPoller vigil_;
  Meter meter_;
  Pulse pulse_;
  std::uint64_t warm_;
  std::uint64_t all_;
  std::uint64_t seen_ = 0;
  std::int64_t last_ = 0;
};

}  // namespace chokepoint::rdma::perf
