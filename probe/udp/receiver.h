// Receives one stream until the sender has reported how much it sent and all of it has arrived, or
// nothing more arrives. receive_stream() runs on a thread of its own. The socket is connected,
// blocking with a short timeout (set_blocking), prepared by prepare_receiving, and stays the
// caller's.
#pragma once

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "probe/udp/flow_meter.h"

namespace chokepoint::probe::udp {

// Other threads may read it meanwhile.
struct ReceiveProgress {
  std::atomic<std::uint64_t> packets = 0;
  std::atomic<std::uint64_t> bytes = 0;
  std::atomic<std::uint64_t> missing = 0;
};

// When to end. Packets in flight when the sender stopped are waited for: for `grace` after the last
// arrival, and never longer than `most` after the sender's report.
struct ReceiveEnd {
  std::atomic<bool> stop = false;           // at once
  std::atomic<std::int64_t> expected = -1;  // packets, once the sender has reported
  std::chrono::nanoseconds grace = std::chrono::milliseconds(300);
  std::chrono::nanoseconds most = std::chrono::seconds(3);
};

// Receives messages in batches, each with what the kernel reports of it: the size of the packets
// merged in it, its arrival, the drops before it. Arrival times are the kernel's, converted to the
// monotonic clock. One thread; messages are valid until the next receive().
class Inbox {
 public:
  explicit Inbox(int fd);
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  int descriptor() const { return fd_; }

  // Waits for the socket's timeout. How many messages arrived.
  Result<std::size_t> receive();
  Arrival message(std::size_t index) const;
  // When receive() returned.
  std::int64_t now_ns() const { return now_ns_; }

 private:
  static constexpr std::size_t kMessages = 16;
  static constexpr std::size_t kMessageBytes = std::size_t{64} * 1024;
  static constexpr std::size_t kControlBytes = 128;
  using Control = std::array<std::byte, kControlBytes>;

  int fd_;
  sys::SystemClock clock_;
  std::int64_t now_ns_ = 0;
  std::int64_t wall_ahead_ns_ = 0;
  std::vector<std::byte> buffer_;
  alignas(cmsghdr) std::array<Control, kMessages> control_{};
  std::array<iovec, kMessages> pieces_{};
  std::array<mmsghdr, kMessages> messages_{};
};

// Fills the meter, and closes it.
Result<> receive_stream(Inbox& inbox, FlowMeter& meter, const ReceiveEnd& end,
                        ReceiveProgress& progress);

}  // namespace chokepoint::probe::udp
