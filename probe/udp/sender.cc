#include "probe/udp/sender.h"

#include <algorithm>

#include "base/sys/clock.h"
#include "probe/udp/outbox.h"
#include "probe/udp/pacer.h"
#include "probe/udp/sleeper.h"

namespace chokepoint::probe::udp {
namespace {

constexpr double kBitsPerByte = 8;

PacketHead first_head(const SendPlan& plan) {
  return {.kind = PacketKind::Data,
          .stream = plan.identity.stream,
          .run = plan.identity.run,
          .test = plan.identity.test};
}

class StreamSender {
 public:
  StreamSender(int fd, const SendPlan& plan, SendProgress& progress)
      : outbox_(fd, first_head(plan), plan.packet_bytes), plan_(plan), progress_(progress) {}

  void run_paced(const std::atomic<bool>& stop) {
    const double rate = packets_per_second();
    const std::uint32_t batch = batch_for(rate, outbox_.most());
    Sleeper sleeper(static_cast<std::int64_t>(batch * 1e9 / rate));
    std::int64_t now = clock_.monotonic_ns();
    const std::int64_t end = now + plan_.duration.count();
    Pacer pacer(rate, batch, now);
    BurstMeter meter(rate);
    while (!over(stop, now, end)) {
      now = sleeper.until(std::min(pacer.next_ns(), end));
      const std::uint32_t packets = send(now < end ? pacer.due(now) : 0, now);
      if (packets > 0) {
        pacer.sent(packets, now);
        meter.add(packets, now);
      }
    }
    outcome_.tally.skipped = pacer.skipped();
    outcome_.tally.burst = meter.burst();
  }

  void run_unpaced(const std::atomic<bool>& stop) {
    std::int64_t now = clock_.monotonic_ns();
    const std::int64_t end = now + plan_.duration.count();
    for (; !over(stop, now, end); now = clock_.monotonic_ns()) {
      send(outbox_.most(), now);
    }
  }

  SendOutcome outcome() {
    outcome_.tally.bytes = outcome_.tally.packets * plan_.packet_bytes;
    outcome_.tally.dropped_here = outbox_.dropped();
    outcome_.tally.blocked_ns = outbox_.blocked_ns();
    outcome_.tally.segmented = outbox_.segmented();
    return outcome_;
  }

 private:
  double packets_per_second() const {
    return plan_.bits_per_second / kBitsPerByte / static_cast<double>(plan_.packet_bytes);
  }

  bool over(const std::atomic<bool>& stop, std::int64_t now, std::int64_t end) const {
    return now >= end || outcome_.error || stop.load(std::memory_order_relaxed);
  }

  std::uint32_t send(std::uint32_t packets, std::int64_t now) {
    SendTally& tally = outcome_.tally;
    if (packets == 0) {
      return 0;
    }
    const Result<std::uint32_t> taken = outbox_.send(tally.packets, packets, now);
    if (!taken) {
      refuse(taken.error());
      return 0;
    }
    trouble_ = std::max(trouble_ - 1, 0);
    note(*taken, now);
    return *taken;
  }

  void note(std::uint32_t packets, std::int64_t now) {
    SendTally& tally = outcome_.tally;
    if (packets == 0) {
      return;
    }
    tally.first_ns = tally.packets == 0 ? now : tally.first_ns;
    tally.last_ns = now;
    tally.last_batch = packets;
    tally.packets += packets;
    progress_.packets.store(tally.packets, std::memory_order_relaxed);
  }

  // An error that ICMP left on the socket is told once, perhaps an old one; a peer that is gone
  // answers each packet that gets through with another.
  void refuse(const Error& error) {
    constexpr int kARefusal = 2;
    constexpr int kTooMuch = 32;
    trouble_ += kARefusal;
    if (trouble_ >= kTooMuch) {
      outcome_.error = error;
    }
  }

  sys::SystemClock clock_;
  Outbox outbox_;
  const SendPlan& plan_;
  SendProgress& progress_;
  SendOutcome outcome_;
  int trouble_ = 0;
};

}  // namespace

std::optional<double> bytes_per_second(const SendTally& tally) {
  if (tally.last_ns <= tally.first_ns || tally.packets == 0) {
    return std::nullopt;
  }
  // The last batch has no time after it.
  constexpr double kNsPerSecond = 1e9;
  const double share =
      static_cast<double>(tally.packets - tally.last_batch) / static_cast<double>(tally.packets);
  return static_cast<double>(tally.bytes) * share * kNsPerSecond /
         static_cast<double>(tally.last_ns - tally.first_ns);
}

SendOutcome send_stream(int fd, const SendPlan& plan, const std::atomic<bool>& stop,
                        SendProgress& progress) {
  StreamSender sender(fd, plan, progress);
  if (plan.bits_per_second > 0) {
    sender.run_paced(stop);
  } else {
    sender.run_unpaced(stop);
  }
  return sender.outcome();
}

}  // namespace chokepoint::probe::udp
