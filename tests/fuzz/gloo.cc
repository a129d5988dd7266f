// A stream is a stranger's word: pieces of any size, at any offset, cut anywhere. Every message has
// its end behind its begin, and no collective is told twice at a time.
#include <cstdlib>
#include <cstring>
#include <span>

#include "capture/gloo/collectives.h"
#include "capture/gloo/follower.h"

namespace {

using namespace chokepoint::capture::gloo;

void check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

struct Watched {
  Follower follower;
  std::uint64_t offset = 0;
};

}  // namespace

// The input is pieces: direction and how far to go back or ahead, bytes not captured, bytes
// captured (a byte each), content. NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::size_t told = 0;
  Collectives collectives(
      [&](const Collective& each) {
        ++told;
        check(each.start_ns <= each.end_ns);
      },
      {.connections = 2, .open = 4, .shares = 2});
  const std::uint32_t connection = collectives.connect({});
  std::array<Watched, 2> streams;
  std::span<const std::uint8_t> rest(data, size);
  std::int64_t now = 0;
  while (rest.size() >= 3) {
    const bool is_sent = (rest[0] & 1) != 0;
    Watched& stream = streams[is_sent];
    const auto step = static_cast<std::int64_t>(rest[0] >> 1) - 64;
    const std::uint64_t from =
        (rest[0] & 2) != 0 ? stream.offset : stream.offset + static_cast<std::uint64_t>(step * 8);
    const std::size_t captured = std::min<std::size_t>(rest[2], rest.size() - 3);
    Piece piece;
    piece.time_ns = ++now;
    piece.offset = from;
    piece.bytes = static_cast<std::uint32_t>(captured + rest[1] * std::size_t{8});
    piece.captured = rest.subspan(3, captured);
    stream.offset = from + piece.bytes;
    looks_like_gloo(piece.offset, piece.captured);
    stream.follower.take(piece, [&](const Message& message) {
      check(message.first_byte_ns <= message.last_byte_ns);
      collectives.take(connection, is_sent, message);
    });
    check(collectives.open() <= 4);
    rest = rest.subspan(3 + captured);
  }
  collectives.settle(now, true);
  check(collectives.open() == 0);
  return 0;
}
