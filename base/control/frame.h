// Messages to bytes and back. FrameReader takes bytes as they come and never asks for more than the
// frame at hand needs, so that what follows on the connection stays unread. A long body costs
// memory only as its bytes come, not when it is announced. Malformed bytes are an error, after
// which the reader is of no more use. No I/O; one thread.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/control/message.h"
#include "base/sys/error.h"

namespace chokepoint::control {

inline constexpr std::size_t kHeaderBytes = 8;
// Lists and objects in one another. What walks through a body may call itself for each.
inline constexpr int kDeepestBody = 64;

std::string encode(const Message& message);

class FrameReader {
 public:
  explicit FrameReader(std::size_t most_body) : most_body_(most_body) {}

  // A frame from an admitted peer may be larger than a stranger's.
  void allow(std::size_t most_body) { most_body_ = most_body; }

  // Where the next bytes go, and how many are wanted; never empty.
  std::span<std::byte> wanted();
  // `count` bytes were put there. The message, once it is whole.
  Result<std::optional<Message>> took(std::size_t count);

 private:
  Result<> read_header();
  void make_room();
  Result<Message> read_body();

  std::size_t most_body_;
  std::array<std::byte, kHeaderBytes> header_{};
  std::size_t have_ = 0;  // of the header, then of the body
  bool in_body_ = false;
  Type type_ = Type::Bye;
  std::size_t length_ = 0;  // of the whole body
  std::string body_;        // what has come of it, and room for what is wanted next
};

}  // namespace chokepoint::control
