// Header-only captures of real Gloo traffic as pieces of streams, in the order of the capture, and
// an observer of them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "capture/gloo/collectives.h"
#include "capture/gloo/follower.h"

namespace chokepoint::capture::gloo {

struct StreamPiece {
  packet::Ends ends{};
  std::int64_t time_ns = 0;
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;
  std::vector<std::uint8_t> captured{};

  Piece piece() const {
    return {.time_ns = time_ns, .offset = offset, .bytes = bytes, .captured = captured};
  }
};

// Data only. Offsets count from the first byte after SYN.
std::vector<StreamPiece> read_pieces(const std::string& fixture);

struct Followed {
  std::vector<Collective> collectives{};
  std::uint64_t messages = 0;
  std::uint64_t unknown_messages = 0;
  std::uint64_t connections = 0;
};

// As an observer on the host with this address would: followers where a stream looks like Gloo's.
// `skips` pieces whose number it says yes to, as a capture that lost them.
template <class Skips>
Followed follow(const std::vector<StreamPiece>& pieces, const packet::Address& self, Skips skips);

inline packet::Address address_of(std::uint32_t host_order) {
  packet::Address address;
  std::array<std::uint8_t, 16> bytes{};
  bytes[10] = bytes[11] = 0xff;
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[12 + i] = static_cast<std::uint8_t>(host_order >> (24 - 8 * i));
  }
  std::memcpy(address.words.data(), bytes.data(), bytes.size());
  return address;
}

inline packet::Address rank_zero() { return address_of(0x0a4f0001); }

class Watching {
 public:
  explicit Watching(packet::Address self) : self_(self) {}

  void take(const StreamPiece& piece) {
    Stream& stream = stream_of(piece);
    if (!stream.is_gloo && !looks_like_gloo(piece.offset, piece.captured)) {
      return;
    }
    if (!stream.is_gloo) {
      stream.is_gloo = true;
      stream.connection = connection_of(piece);
    }
    const bool is_sent = piece.ends.source == self_;
    stream.follower.take(piece.piece(), [&](const Message& message) {
      ++followed_.messages;
      followed_.unknown_messages += message.kind == Kind::Unknown ? 1 : 0;
      collectives_.take(stream.connection, is_sent, message);
    });
  }

  Followed finish() {
    collectives_.settle(0, true);
    return std::move(followed_);
  }

 private:
  struct Stream {
    Follower follower;
    bool is_gloo = false;
    std::uint32_t connection = 0;
  };
  using Name = std::tuple<std::uint64_t, std::uint64_t, std::uint16_t, std::uint16_t>;

  static Name name_of(const packet::Ends& ends) {
    return {ends.source.words[1], ends.destination.words[1], ends.source_port,
            ends.destination_port};
  }

  Stream& stream_of(const StreamPiece& piece) { return streams_[name_of(piece.ends)]; }

  std::uint32_t connection_of(const StreamPiece& piece) {
    packet::Ends ends = piece.ends;
    if (ends.source != self_) {
      std::swap(ends.source, ends.destination);
      std::swap(ends.source_port, ends.destination_port);
    }
    const auto [place, is_new] = connections_.try_emplace(name_of(ends), 0);
    if (is_new) {
      place->second = collectives_.connect(ends);
      ++followed_.connections;
    }
    return place->second;
  }

  packet::Address self_;
  Followed followed_;
  Collectives collectives_{
      [this](const Collective& each) { followed_.collectives.push_back(each); }};
  std::map<Name, Stream> streams_;
  std::map<Name, std::uint32_t> connections_;
};

template <class Skips>
Followed follow(const std::vector<StreamPiece>& pieces, const packet::Address& self, Skips skips) {
  Watching watching(self);
  for (std::size_t number = 0; number < pieces.size(); ++number) {
    if (!skips(number)) {
      watching.take(pieces[number]);
    }
  }
  return watching.finish();
}

inline Followed follow(const std::vector<StreamPiece>& pieces, const packet::Address& self) {
  return follow(pieces, self, [](std::size_t) { return false; });
}

}  // namespace chokepoint::capture::gloo
