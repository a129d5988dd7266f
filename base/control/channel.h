// The control connection: whole messages, each with a deadline, sealed once both have keys.
// Owns the socket. One thread at a time.
#pragma once

#include <optional>
#include <string>

#include "base/control/deadlines.h"
#include "base/control/message.h"
#include "base/net/deadline.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::control {

// Control messages must arrive also where larger packets vanish: every path of IPv6 carries this.
inline constexpr int kSegmentBytes = 1220;

class Channel {
 public:
  // `peer` is how errors call the other side.
  Channel(sys::Descriptor fd, std::string peer, std::size_t most_body)
      : fd_(std::move(fd)), peer_(std::move(peer)), reader_(most_body) {}

  int descriptor() const { return fd_.get(); }
  const std::string& peer() const { return peer_; }
  void allow(std::size_t most_body) { reader_.allow(most_body); }
  void seal(const Seal& outgoing, const Seal& incoming) {
    outgoing_ = outgoing;
    reader_.seal(incoming);
  }

  Result<> send(const Message& message, const net::Deadline& deadline);

  Result<Message> receive(const net::Deadline& deadline);
  // This type, or an error: Refused and Failed become the error that they hold.
  Result<Message> expect(Type type, const net::Deadline& deadline);
  // What has come by now; nothing where no whole message has.
  Result<std::optional<Message>> poll();

 private:
  Result<std::optional<Message>> take(std::size_t count);

  sys::Descriptor fd_;
  std::string peer_;
  std::optional<Seal> outgoing_ = {};
  FrameReader reader_;
};

}  // namespace chokepoint::control
