// The loops that send and receive a UDP stream of a foreign protocol (iperf3, nuttcp), and the
// counters of what they moved. A loop runs on its stream's thread, on a socket that is connected,
// blocking with a short timeout and, to receive, prepared by udp::prepare_receiving. The socket
// stays the caller's. The stream's thread writes the counters and any thread reads them.
//
// What a datagram looks like is the business of a Format:
//   void stamp(std::span<std::byte> packet, std::uint64_t number, std::int64_t now_ns)
//       writes into a packet to send; numbers begin with 0
//   std::optional<Numbered> read(std::span<const std::byte> packet)
//       nullopt for what is not data of the stream
//   bool ends(std::span<const std::byte> packet)
//       true for the mark that ends the stream
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/sys/error.h"
#include "probe/udp/flow_meter.h"
#include "probe/udp/receiver.h"
#include "probe/udp/sender.h"

namespace chokepoint::probe::peer {

// Monotonic nanoseconds; 0: not yet.
struct alignas(64) DatagramCounters {
  std::atomic<std::uint64_t> packets = 0;  // sent, or received each once
  std::atomic<std::uint64_t> bytes = 0;
  std::atomic<std::uint64_t> highest = 0;  // at least this many were sent, by their numbers
  std::atomic<std::uint64_t> missing = 0;
  std::atomic<std::uint64_t> out_of_order = 0;
  std::atomic<std::uint64_t> duplicates = 0;
  std::atomic<double> jitter_ms = -1;  // negative: unknown
  std::atomic<std::int64_t> first_ns = 0;
  std::atomic<std::int64_t> last_ns = 0;
  std::atomic<bool> done = false;
  std::atomic<int> error = 0;  // errno
};

// What to send, until its time or its number of packets is over.
struct DatagramPlan {
  std::size_t bytes = 0;       // of each
  double bits_per_second = 0;  // of payload; 0: as fast as it goes
  std::int64_t time_ns = 0;
  std::optional<std::uint64_t> packets = {};
};

// Sends datagrams of one size, several in a system call. The caller writes the packets; bytes that
// it does not write stay as they were.
class DatagramBatch {
 public:
  // Filled with printable text that no peer mistakes for a mark.
  DatagramBatch(int fd, std::size_t packet_bytes);

  std::uint32_t most() const { return static_cast<std::uint32_t>(messages_.size()); }
  std::span<std::byte> packet(std::uint32_t index) {
    return std::span(buffer_).subspan(index * packet_bytes_, packet_bytes_);
  }
  // How many of the first `packets` the kernel took: 0 where it has no room now, or where the error
  // of an earlier packet was pending.
  Result<std::uint32_t> send(std::uint32_t packets);

 private:
  int fd_;
  std::size_t packet_bytes_;
  std::vector<std::byte> buffer_;
  std::vector<iovec> pieces_;
  std::vector<mmsghdr> messages_;
};

template <class Format>
class DatagramSender {
 public:
  DatagramSender(int fd, const DatagramPlan& plan, Format format, DatagramCounters& counters)
      : batch_(fd, plan.bytes), plan_(plan), format_(format), counters_(counters) {}

  void run(const std::atomic<bool>& stop) {
    const double rate = packets_per_second();
    const std::uint32_t batch = udp::batch_for(rate, batch_.most());
    udp::Sleeper sleeper(rate > 0 ? static_cast<std::int64_t>(batch * 1e9 / rate) : 0);
    std::int64_t now = sleeper.now_ns();
    const std::int64_t end = now + plan_.time_ns;
    counters_.first_ns = now;
    udp::Pacer pacer(std::max(rate, 1e-3), batch, now);
    while (now < end && left_ > 0 && counters_.error == 0 &&
           !stop.load(std::memory_order_relaxed)) {
      now = rate > 0 ? sleeper.until(std::min(pacer.next_ns(), end)) : sleeper.now_ns();
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

  DatagramBatch batch_;
  const DatagramPlan& plan_;
  Format format_;
  DatagramCounters& counters_;
  std::uint64_t number_ = 0;
  std::uint64_t left_ = plan_.packets.value_or(std::numeric_limits<std::uint64_t>::max());
};

// A datagram's number, from 0, and when it left by its sender's clock; without a number where the
// protocol has none.
struct Numbered {
  std::optional<std::uint64_t> number = {};
  std::int64_t sent_ns = 0;
};

template <class Format>
class DatagramReceiver {
 public:
  DatagramReceiver(int fd, Format format, DatagramCounters& counters)
      : inbox_(fd), format_(format), counters_(counters) {}

  void run(const std::atomic<bool>& stop) {
    while (!ended_ && !stop.load(std::memory_order_relaxed)) {
      const Result<std::size_t> messages = inbox_.receive();
      if (!messages) {
        counters_.error = messages.error().code;
        return;
      }
      for (std::size_t i = 0; i < *messages; ++i) {
        take(inbox_.message(i));
      }
      publish();
    }
  }

 private:
  void take(const udp::Arrival& arrival) {
    const std::size_t step = arrival.segment_bytes > 0
                                 ? arrival.segment_bytes
                                 : std::max<std::size_t>(arrival.bytes.size(), 1);
    for (std::size_t at = 0; at < arrival.bytes.size(); at += step) {
      take(arrival.bytes.subspan(at, std::min(step, arrival.bytes.size() - at)),
           arrival.arrived_ns);
    }
  }

  void take(std::span<const std::byte> packet, std::int64_t arrived_ns) {
    ended_ = ended_ || format_.ends(packet);
    const std::optional<Numbered> read = format_.read(packet);
    if (!read || (read->number && !sequence_.add(*read->number))) {
      return;
    }
    if (read->number) {
      jitter_.add(read->sent_ns, arrived_ns);
    }
    if (packets_ == 0) {
      counters_.first_ns.store(arrived_ns, std::memory_order_relaxed);
    }
    ++packets_;
    bytes_ += packet.size();
    last_ns_ = arrived_ns;
  }

  void publish() {
    counters_.packets.store(packets_, std::memory_order_relaxed);
    counters_.bytes.store(bytes_, std::memory_order_relaxed);
    counters_.highest.store(sequence_.next_expected(), std::memory_order_relaxed);
    counters_.missing.store(sequence_.missing(), std::memory_order_relaxed);
    counters_.out_of_order.store(sequence_.counts().out_of_order, std::memory_order_relaxed);
    counters_.duplicates.store(sequence_.counts().duplicates, std::memory_order_relaxed);
    counters_.jitter_ms.store(jitter_.milliseconds().value_or(-1), std::memory_order_relaxed);
    counters_.last_ns.store(last_ns_, std::memory_order_relaxed);
  }

  udp::Inbox inbox_;
  udp::SequenceTracker sequence_;
  udp::Jitter jitter_;
  Format format_;
  DatagramCounters& counters_;
  std::uint64_t packets_ = 0;
  std::uint64_t bytes_ = 0;
  std::int64_t last_ns_ = 0;
  bool ended_ = false;
};

}  // namespace chokepoint::probe::peer
