// Messages between two processes of this program on one host, over a pair of sockets that keeps
// their borders (SOCK_SEQPACKET). A message is a head and bytes; it arrives whole or not at all.
// The caller interprets the bytes, by bounded readers: the other process may be controlled by an
// attacker through the data that it parses. Any thread may send; one receives at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::sys {

struct MessageHead {
  std::int32_t kind = 0;
  std::int32_t number = 0;
  std::int64_t t_ns = 0;
};

// Beside the head.
inline constexpr std::size_t kMaxMessageBytes = 65'536;

struct ReceivedMessage {
  MessageHead head = {};
  std::string_view bytes = {};  // until the next call of receive()
  Descriptor passed = {};       // a descriptor that came along

  template <class Kind>
  Kind kind() const {
    return static_cast<Kind>(head.kind);
  }
};

struct MessageSockets;

// One end. Non-blocking, and closed by exec().
class MessageSocket {
 public:
  // What goes along with a message's bytes; `passed`: a descriptor to hand over, -1: none.
  struct More {
    std::int32_t number = 0;
    std::int64_t t_ns = 0;
    int passed = -1;
  };
  static constexpr std::chrono::milliseconds kForever{-1};

  static Result<MessageSockets> open_pair(std::string_view operation);
  explicit MessageSocket(Descriptor socket);

  // For poll(); -1 once the other side is gone.
  int descriptor() const { return is_gone_ ? -1 : socket_.get(); }
  bool is_gone() const { return is_gone_; }
  void close();
  // Room for what is sent and not yet received. The kernel clamps it to net.core.wmem_max.
  void set_queue_bytes(int bytes) const;

  // Takes no memory. Bytes beyond kMaxMessageBytes are cut off. False if there was no room in that
  // time, or the other side is gone.
  template <class Kind>
  bool send(Kind kind, std::string_view bytes, std::chrono::milliseconds time,
            const More& more) const {
    return send_head({static_cast<std::int32_t>(kind), more.number, more.t_ns}, bytes, time,
                     more.passed);
  }
  template <class Kind>
  bool send(Kind kind, std::string_view bytes, std::chrono::milliseconds time) const {
    return send(kind, bytes, time, More{});
  }
  // Never waits. Nothing if nothing has come.
  std::optional<ReceivedMessage> receive();

 private:
  bool send_head(const MessageHead& head, std::string_view bytes, std::chrono::milliseconds time,
                 int passed) const;

  Descriptor socket_;
  std::unique_ptr<char[]> buffer_;
  bool is_gone_;
};

struct MessageSockets {
  MessageSocket own;
  MessageSocket other;
};

// An error as a message's bytes; long words are cut. What cannot be read is an error of kind
// Malformed.
std::string packed_error(const Error& error);
Error unpacked_error(std::string_view bytes);

}  // namespace chokepoint::sys
