// The control connection's messages: a frame of eight bytes and a JSON object.
//
//     0        1        2        3        4        5        6        7
//   ┌────────┬────────┬────────┬────────┬────────┬────────┬────────┬────────┐
//   │  'C'   │  'K'   │framing │  type  │ length of the body, big-endian     │
//   │        │        │   1    │        │                                    │
//   ├────────┴────────┴────────┴────────┴────────────────────────────────────┤
//   │ body: one JSON object in UTF-8                                         │
//   └─────────────────────────────────────────────────────────────────────────┘
//
//   client                                             server
//     Hello {oldest, newest, nonce, program, host} ─────►
//     ◄───────────── Welcome {version, nonce, key, program, host}   or Refused
//     Proof {mac} ──────────────────────────────────────►
//     ◄──────────────── Admitted {mac, session, secret?, seen_as, limits}   or Refused
//
//     Request {kind, parameters, share} ────────────────►            any number of these, in turn
//     ◄──────────────────────── Queued {ahead, reason}…   or Refused
//     ◄────────────────────────────────── Ready {…}
//     Attach {session, index, mac} ═════► on a connection of its own, one a data stream,
//                                         which carries nothing but data from then on
//     Begin {} ◄── or ──► as the kind of test says, with Report, Stop and Note
//     ◄──────────────────────────────── Result {…}   or Failed {error}
//
//     Bye {} ───────────────────────────────────────────►
//
// docs/protocol.md tells the whole of it. Values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

namespace chokepoint::control {

using Json = nlohmann::ordered_json;

inline constexpr std::uint16_t kPort = 5210;
inline constexpr int kVersion = 1;  // of the messages; both sides must share one

enum class Type : std::uint8_t {
  Hello = 1,
  Welcome = 2,
  Proof = 3,
  Admitted = 4,
  Refused = 5,
  Attach = 6,
  Request = 7,
  Queued = 8,
  Ready = 9,
  Begin = 10,
  Report = 11,
  Stop = 12,
  Result = 13,
  Failed = 14,
  Bye = 15,
  Note = 16,
};

std::string_view name_of(Type type);

struct Message {
  Type type = Type::Bye;
  Json body = Json::object();
};

// What a body may measure: a stranger's, an admitted client's, a server's.
inline constexpr std::size_t kMostFromStranger = 4096;
inline constexpr std::size_t kMostFromClient = std::size_t{64} * 1024;
inline constexpr std::size_t kMostFromServer = std::size_t{16} * 1024 * 1024;

}  // namespace chokepoint::control
