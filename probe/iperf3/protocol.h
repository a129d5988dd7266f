// What iperf3 and its peer say on the control connection (TCP 5201), up to the parameters' and the
// results' content. A state is one signed byte; JSON comes as a big-endian u32 length and text.
//
//   client                                   server
//     │── cookie, 37 bytes ────────────────────►│   DENIED and close where it is busy
//     │◄──────────────── PARAM_EXCHANGE (9) ────│
//     │── length, parameters as JSON ──────────►│   SERVER_ERROR, i_errno, errno: refused
//     │◄──────────────── CREATE_STREAMS (10) ───│
//     │── a connection a stream: the cookie ───►│   UDP: "9876" there, "6789" back
//     │◄─────── TEST_START (1), TEST_RUNNING (2)│
//     │◄═══════════ data, either way ══════════►│
//     │── TEST_END (4) ────────────────────────►│
//     │◄──────────────── EXCHANGE_RESULTS (13) ─│
//     │── length, results as JSON ─────────────►│
//     │◄──────── length, results, DISPLAY_RESULTS (14)
//     │── IPERF_DONE (16) ─────────────────────►│
//
// Values and pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/sys/error.h"

namespace chokepoint::probe::iperf3 {

inline constexpr std::uint16_t kDefaultPort = 5201;
inline constexpr std::size_t kCookieBytes = 37;  // the last is a NUL
inline constexpr std::size_t kMostParameterBytes = 8192;
inline constexpr std::size_t kMostResultBytes = std::size_t{256} * 1024;
inline constexpr int kMostStreams = 128;

enum class State : std::int8_t {
  TestStart = 1,
  TestRunning = 2,
  TestEnd = 4,
  ParamExchange = 9,
  CreateStreams = 10,
  ServerTerminate = 11,
  ClientTerminate = 12,
  ExchangeResults = 13,
  DisplayResults = 14,
  IperfStart = 15,
  IperfDone = 16,
  AccessDenied = -1,
  ServerError = -2,
};

// Nothing for a byte that iperf3 never sends.
std::optional<State> state_of(std::byte raw);
std::string_view name_of(State state);

using Cookie = std::array<char, kCookieBytes>;

// Of 36 random bytes.
Cookie make_cookie(std::span<const std::uint8_t, kCookieBytes - 1> random);
// Whether this is what an iperf3 client may begin with: any 36 characters and a NUL.
bool is_cookie(std::span<const std::byte> raw);

// The length that stands before JSON, refused where it is more than `most`.
std::array<std::byte, 4> encode_length(std::size_t length);
Result<std::size_t> decode_length(std::span<const std::byte, 4> raw, std::size_t most);

// iperf3 numbers streams 1, 3, 4, 5 and so on; results are matched by it.
int stream_id(int index);

// i_errno, as far as this program says it; the rest of the table it only passes on.
enum class Refusal : std::int32_t {
  TooManyStreams = 6,
  TooLong = 5,
  BlockSize = 7,
  BadParameters = 114,
  Protocol = 131,
  Congestion = 134,
  Streams = 203,
};

// What follows SERVER_ERROR.
struct ServerError {
  std::int32_t code = 0;         // i_errno
  std::int32_t system_code = 0;  // errno
};

std::array<std::byte, 8> encode(const ServerError& error);
ServerError decode_server_error(std::span<const std::byte, 8> raw);
std::string describe(const ServerError& error);

}  // namespace chokepoint::probe::iperf3
