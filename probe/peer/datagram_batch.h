// Datagrams of one size on their way into a connected socket, several a system call. The caller
// writes the packets; what it does not write stays as it was. Does not own the socket. One thread.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/sys/error.h"

namespace chokepoint::probe::peer {

class DatagramBatch {
 public:
  // Filled with printable text without a pattern that any peer takes for a mark.
  DatagramBatch(int fd, std::size_t packet_bytes);

  std::uint32_t most() const { return static_cast<std::uint32_t>(messages_.size()); }
  std::span<std::byte> packet(std::uint32_t index) {
    return std::span(buffer_).subspan(index * packet_bytes_, packet_bytes_);
  }
  // How many of the first `packets` the kernel took: none where it has no room for now, or where an
  // error of an earlier one was waiting.
  Result<std::uint32_t> send(std::uint32_t packets);

 private:
  int fd_;
  std::size_t packet_bytes_;
  std::vector<std::byte> buffer_;
  std::vector<iovec> pieces_;
  std::vector<mmsghdr> messages_;
};

}  // namespace chokepoint::probe::peer
