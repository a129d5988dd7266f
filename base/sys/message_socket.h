// Messages between two processes of this program on one host, over a pair of sockets that keeps
// their borders (SOCK_SEQPACKET). A message is a head and bytes; it arrives whole or not at all.
// What the bytes mean is the caller's: the other process may have been taken over by what it
// parses, so they are read by bounded readers. One thread sends and one receives at a time.
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
  std::string_view bytes = {};  // in the buffer of receive_message()
  Descriptor passed = {};       // a descriptor that came along
};

// Both ends are non-blocking and closed by exec().
struct MessageSockets {
  Descriptor own;
  Descriptor other;
};
Result<MessageSockets> open_message_sockets(std::string_view operation);

// Room for a message's bytes.
inline std::unique_ptr<char[]> message_buffer() {
  return std::make_unique<char[]>(kMaxMessageBytes);
}

// Bytes beyond kMaxMessageBytes are cut off. False if there was no room in that time, or the other
// side is gone. `passed`: a descriptor to hand over; -1: none.
bool send_message(int socket, const MessageHead& head, std::string_view bytes,
                  std::chrono::milliseconds time, int passed = -1);

// Never waits. nullopt if nothing has come; `is_gone`: the other side has closed.
std::optional<ReceivedMessage> receive_message(int socket, char* buffer, bool& is_gone);

// An error as a message's bytes; long words are cut. What cannot be read is an error of kind
// Malformed.
std::string packed_error(const Error& error);
Error unpacked_error(std::string_view bytes);

}  // namespace chokepoint::sys
