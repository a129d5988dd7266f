#include "probe/nuttcp/line_channel.h"

#include <array>
#include <span>

#include "base/net/socket.h"
#include "probe/nuttcp/protocol.h"

namespace chokepoint::probe::nuttcp {

using net::Patience;

Result<> LineChannel::send(std::string_view text, const Patience& patience) {
  return net::send_all(fd_.get(), std::as_bytes(std::span(text)), patience, peer_);
}

// False where the peer has closed.
Result<bool> LineChannel::hear_more(const Patience& patience) {
  std::array<char, 4096> buffer{};
  TRY(const std::size_t got,
      net::receive_some(fd_.get(), std::as_writable_bytes(std::span(buffer)), patience, peer_));
  heard_.append(buffer.data(), got);
  return got > 0;
}

Result<std::string> LineChannel::line(const Patience& patience) {
  while (true) {
    if (const std::size_t end = heard_.find('\n'); end != std::string::npos) {
      std::string line = heard_.substr(0, end + 1);
      heard_.erase(0, end + 1);
      return line;
    }
    if (heard_.size() > kLongestLine) {
      return fail(ErrorKind::Malformed, "", peer_, "it sends a line without an end");
    }
    TRY(const bool more, hear_more(patience));
    if (!more) {
      return fail(ErrorKind::Refused, "", peer_, "it closed the connection",
                  "is 'nuttcp -S' running there?");
    }
  }
}

Result<std::string> LineChannel::rest(std::size_t most, const Patience& patience) {
  while (heard_.size() <= most) {
    TRY(const bool more, hear_more(patience));
    if (!more) {
      return std::move(heard_);
    }
  }
  return fail(ErrorKind::Malformed, "", peer_, "its results have no end");
}

}  // namespace chokepoint::probe::nuttcp
