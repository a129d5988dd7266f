// The loop that sends a UDP stream of a foreign protocol, paced or as fast as it goes. Runs on the
// stream's thread; the socket is connected and blocking with a short time-out.
//
// Format: void stamp(std::span<std::byte> packet, std::uint64_t number, std::int64_t now_ns), where
// numbers begin with 0.
#pragma once

#include <algorithm>
#include <limits>

#include "probe/peer/datagram_batch.h"
#include "probe/peer/datagram_counters.h"
#include "probe/udp/pacer.h"
#include "probe/udp/sleeper.h"

namespace chokepoint::probe::peer {

template <class Format>
class DatagramSender {
 public:
  DatagramSender(int fd, const DatagramPlan& plan, Format format, DatagramCounters& counters)
      : batch_(fd, plan.bytes), plan_(plan), format_(format), counters_(counters) {}

  void run(const std::atomic<bool>& stop) {
    std::int64_t now = sleeper_.now_ns();
    const std::int64_t end = now + plan_.time_ns;
    counters_.first_ns = now;
    const double rate = packets_per_second();
    udp::Pacer pacer(std::max(rate, 1e-3), udp::batch_for(rate, batch_.most()), now);
    while (now < end && left_ > 0 && counters_.error == 0 &&
           !stop.load(std::memory_order_relaxed)) {
      now = rate > 0 ? sleeper_.until(std::min(pacer.next_ns(), end)) : sleeper_.now_ns();
      const std::uint32_t due = rate > 0 ? pacer.due(now) : batch_.most();
      const std::uint32_t sent = now < end ? send(due, now) : 0;
      if (sent > 0 && rate > 0) {
        pacer.sent(sent, now);
      }
    }
  }

 private:
  double packets_per_second() const {
    return plan_.bits_per_second / 8 / static_cast<double>(plan_.bytes);
  }

  std::uint32_t send(std::uint32_t due, std::int64_t now) {
    const auto packets = static_cast<std::uint32_t>(std::min<std::uint64_t>(due, left_));
    if (packets == 0) {
      return 0;
    }
    for (std::uint32_t i = 0; i < packets; ++i) {
      format_.stamp(batch_.packet(i), number_ + i, now);
    }
    const Result<std::uint32_t> taken = batch_.send(packets);
    if (!taken) {
      counters_.error = taken.error().code;
      return 0;
    }
    count(*taken, now);
    return *taken;
  }

  void count(std::uint32_t packets, std::int64_t now) {
    number_ += packets;
    left_ -= packets;
    counters_.packets.store(number_, std::memory_order_relaxed);
    counters_.bytes.store(number_ * plan_.bytes, std::memory_order_relaxed);
    counters_.last_ns.store(now, std::memory_order_relaxed);
  }

  udp::Sleeper sleeper_;
  DatagramBatch batch_;
  const DatagramPlan& plan_;
  Format format_;
  DatagramCounters& counters_;
  std::uint64_t number_ = 0;
  std::uint64_t left_ = plan_.packets.value_or(std::numeric_limits<std::uint64_t>::max());
};

}  // namespace chokepoint::probe::peer
