// The loop that receives a UDP stream of a foreign protocol. Runs on the stream's thread; the
// socket is connected and blocking with a short time-out, and prepared by udp::prepare_receiving.
//
// Format: std::optional<Numbered> read(std::span<const std::byte> packet), nothing for what is not
// data of the stream; bool ends(packet), true for the mark that ends it.
#pragma once

#include <algorithm>

#include "probe/peer/datagram_counters.h"
#include "probe/udp/inbox.h"
#include "probe/udp/jitter.h"
#include "probe/udp/sequence.h"

namespace chokepoint::probe::peer {

// A datagram's number, from 0, and when its sender says it left; nothing of both where the protocol
// does not number its datagrams.
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
