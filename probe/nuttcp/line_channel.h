// nuttcp's control connection: lines, and the text at the end. Owns the socket. One thread.
#pragma once

#include <string>
#include <string_view>

#include "base/net/patience.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::probe::nuttcp {

class LineChannel {
 public:
  // `peer` is how errors call the other side; `heard`: what was read from the socket before.
  LineChannel(sys::Descriptor fd, std::string peer, std::string heard = {})
      : fd_(std::move(fd)), peer_(std::move(peer)), heard_(std::move(heard)) {}

  int descriptor() const { return fd_.get(); }
  const std::string& peer() const { return peer_; }

  Result<> send(std::string_view text, const net::Patience& patience);
  // With its newline.
  Result<std::string> line(const net::Patience& patience);
  // Until the peer closes.
  Result<std::string> rest(std::size_t most, const net::Patience& patience);

 private:
  Result<bool> hear_more(const net::Patience& patience);

  sys::Descriptor fd_;
  std::string peer_;
  std::string heard_;
};

}  // namespace chokepoint::probe::nuttcp
