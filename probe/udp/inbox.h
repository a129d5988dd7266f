// Messages of a UDP socket by the batch, with what the kernel says of each: the size of the packets
// merged in it, when it came, what had been dropped before it. Arrival times are the kernel's,
// turned into the monotonic clock. Does not own the socket. One thread; the messages are valid
// until the next receive().
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <vector>

#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "probe/udp/flow_meter.h"

namespace chokepoint::probe::udp {

class Inbox {
 public:
  explicit Inbox(int fd);

  // Waits as long as the socket does (set_blocking). How many messages came; 0 in vain.
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

}  // namespace chokepoint::probe::udp
