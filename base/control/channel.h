// The control connection: whole messages, each with a deadline, sealed once both have keys.
// Owns the socket. One thread at a time.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/control/message.h"
#include "base/net/deadline.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::control {

// How long the other side's kernel may say nothing at all: longer than a link that flaps, shorter
// than the time for which other clients wait for their turn.
inline constexpr std::chrono::seconds kSilence{9};

// How long either end of a test waits for the other's next message.
inline constexpr std::chrono::seconds kAnswer{10};

// How long a test waits for its turn at a server.
inline constexpr std::chrono::hours kMaxQueueTime{1};

// How long it takes at most to be connected to a server and admitted.
inline constexpr std::chrono::seconds kConnect{10};

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
  // This type, or an error: Refused and Failed become the error that they tell of.
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
