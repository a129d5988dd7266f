// Batches of QUIC packets through a connected UDP socket: with segmentation on, the kernel cuts one
// message into packets of one size (UDP_SEGMENT) and hands several that arrived over as one
// (UDP_GRO); with it off, a system call moves one packet. ECN goes both ways. Never blocks. Owns
// the socket; one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/net/address.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "probe/quic/connection.h"

namespace chokepoint::probe::quic {

Ends ends_of(const net::Endpoint& local, const net::Endpoint& peer);

struct SocketCounts {
  std::uint64_t sent_packets = 0;
  std::uint64_t sent_calls = 0;
  std::uint64_t refused_packets = 0;  // by this host: too large for the interface, no buffer
  std::uint64_t received_packets = 0;
  std::uint64_t received_calls = 0;
  std::uint64_t sent_ect0 = 0;  // packets marked as capable of ECN
  std::uint64_t received_ect0 = 0;
  std::uint64_t received_ce = 0;  // packets that the path marked instead of dropping
};

class Socket {
 public:
  static Result<Socket> adopt(sys::Descriptor fd, bool segmentation);

  int descriptor() const { return fd_.get(); }
  const Ends& ends() const { return ends_; }
  const SocketCounts& counts() const { return counts_; }
  // Whether the kernel cuts messages; false as well where it has refused to.
  bool is_segmenting() const { return segmentation_; }
  // The peer's host has answered that nothing listens at its port (ICMP).
  bool is_refused() const { return refused_; }

  // Where the next packet of the batch is written to.
  std::span<std::byte> room();
  // A packet of this size was written there. False if it was the last that fits into the batch.
  bool add(std::size_t bytes, unsigned ecn);
  // Sends what was added. False while the socket takes nothing: the batch stays, call it again once
  // the socket can be written to.
  Result<bool> flush();
  bool is_empty() const { return batch_.empty(); }

  // What arrived, at most one message; `take` gets its packets. False where nothing has arrived.
  template <class Take>
  Result<bool> receive(Take take) {
    TRY(const Arrived arrived, receive_message());
    for (std::size_t at = 0; at < arrived.bytes; at += arrived.packet_bytes) {
      const std::size_t bytes = std::min(arrived.packet_bytes, arrived.bytes - at);
      TRY(take(Packet(incoming_).subspan(at, bytes), arrived.ecn));
    }
    return arrived.bytes > 0;
  }

 private:
  struct Arrived {
    std::size_t bytes = 0;
    std::size_t packet_bytes = 1;
    unsigned ecn = 0;
  };
  struct Queued {
    std::size_t bytes = 0;
    unsigned ecn = 0;
  };
  static constexpr std::size_t kBufferBytes = std::size_t{64} << 10;
  static constexpr std::size_t kMaxPackets = 44;  // of kMaxPayload in an IP datagram

  Socket(sys::Descriptor fd, const Ends& ends, bool is_v6, bool segmentation);
  Result<Arrived> receive_message();
  bool is_of_the_path(int code);
  void count_arrived(const Arrived& arrived);
  // How many packets of the batch one message can carry, from the first on.
  std::size_t run() const;
  // Sends these. False: the socket takes nothing now.
  Result<bool> send_run(std::size_t count);
  Result<bool> send_first_alone();
  // What is left of the batch moves to its front.
  void drop(std::size_t count);

  sys::Descriptor fd_;
  Ends ends_;
  bool is_v6_;
  bool segmentation_;
  bool refused_ = false;
  SocketCounts counts_ = {};
  std::vector<std::byte> outgoing_;
  std::vector<std::byte> incoming_;
  std::size_t used_ = 0;  // of outgoing_
  std::vector<Queued> batch_;
};

}  // namespace chokepoint::probe::quic
