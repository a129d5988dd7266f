// What nuttcp and its peer say on the control connection (TCP 5000) before the results: lines of
// text. The data goes over connections of its own, from port 5001 up, one a stream.
//
//   client                                   server
//     │── HELO nuttcp v6.1.2 ──────────────────►│
//     │◄────────────────── HELO nuttcp vX.Y.Z ──│
//     │── buflen = …, nbuf = …, … ─────────────►│   one line, see parameters.h
//     │◄──────────────────────────── OK vX.Y.Z ─│   or KO, a text, KO
//     │◄═ data: the transmitter connects ══════►│   flipped by reverse = 1, TCP only
//     │◄──── lines an interval, then DONE ──────│   where an interval was asked for
//     │◄───────── what the server counted, EOF ─│   see result_text.h
//
// A server of version 6.1.2 says OK before it listens for the data, so the client waits a moment.
// TCP data ends by a close. UDP data is one stream between marks of four bytes:
//
//   BOD0 ─ 250 ms ─ BOD1 ─ data ─ EOD0 ─ 500 ms ─ EOD1 … EOD4
//
// Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/sys/error.h"

namespace chokepoint::probe::nuttcp {

inline constexpr std::uint16_t kControlPort = 5000;
inline constexpr std::uint16_t kDataPort = 5001;
inline constexpr int kMostStreams = 128;
inline constexpr std::size_t kLongestLine = 4096;  // the peer's own buffer

struct Version {
  int major = 6;
  int minor = 1;
  int patch = 2;

  std::string text() const;  // 6.1.2
  auto operator<=>(const Version&) const = default;
};

// What this program says it is: the version with the fewest fields that peers still speak.
inline constexpr Version kOwnVersion{};

std::string hello_line();
Result<Version> read_hello(std::string_view line);

std::string ok_line();
std::string refusal(std::string_view why);  // KO, the text, KO

enum class Answer { Ok, Refused };
Result<Answer> read_answer(std::string_view line);

enum class Mark { Begin, End };

// One of the UDP marks; nothing where the datagram is data.
std::optional<Mark> mark_of(std::span<const std::byte> datagram);

}  // namespace chokepoint::probe::nuttcp
