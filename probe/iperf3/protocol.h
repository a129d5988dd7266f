// What iperf3 and its peer send on the control connection (TCP 5201) but for the content of the
// JSON (messages.h), and the headers of UDP datagrams. Values and pure functions; those for
// datagrams work on the caller's buffer and may be called for every packet.
//
// A state is one signed byte; JSON comes as a big-endian u32 length and text.
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
// A UDP datagram is big-endian. The sequence begins with 1 and is 64 bits wide if both sides agreed
// on it; the time is the sender's monotonic clock: good for jitter, not for a one-way delay.
//
//   0        4          8             12 (or 16)
//   │seconds │ microsec │ sequence    │ anything
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
inline constexpr std::size_t kMaxParameterBytes = 8192;
inline constexpr std::size_t kMaxResultBytes = std::size_t{256} * 1024;
inline constexpr int kMaxStreams = 128;

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

// nullopt for a byte that iperf3 never sends.
std::optional<State> state_of(std::byte raw);
std::string_view name_of(State state);

using Cookie = std::array<char, kCookieBytes>;

// From 36 random bytes.
Cookie make_cookie(std::span<const std::uint8_t, kCookieBytes - 1> random);
// May an iperf3 client begin with this? Any 36 printable characters and a NUL.
bool is_cookie(std::span<const std::byte> raw);

// The length in front of JSON; an error if it is more than `most`.
std::array<std::byte, 4> encode_length(std::size_t length);
Result<std::size_t> decode_length(std::span<const std::byte, 4> raw, std::size_t most);

// iperf3 numbers streams 1, 3, 4, 5 and so on; results are matched by these numbers.
int stream_id(int index);

// The values of i_errno that this program sends; others it only reports.
enum class Refusal : std::int32_t {
  TooLong = 5,
  ManyStreams = 6,
  LargeBuffer = 8,
  HighRate = 27,
  BadParameters = 114,
  Protocol = 131,
  Congestion = 134,
  Streams = 200,  // none can be made, with the reason as errno
};

// What follows SERVER_ERROR.
struct ServerError {
  std::int32_t code = 0;         // i_errno
  std::int32_t system_code = 0;  // errno
};

std::array<std::byte, 8> encode(const ServerError& error);
ServerError decode_server_error(std::span<const std::byte, 8> raw);
std::string describe(const ServerError& error);

struct DatagramHead {
  std::uint32_t seconds = 0;
  std::uint32_t microseconds = 0;
  std::uint64_t sequence = 0;

  bool operator==(const DatagramHead&) const = default;
};

constexpr std::size_t head_bytes(bool wide) { return wide ? 16 : 12; }

// `into` has room for the header.
void encode(const DatagramHead& head, bool wide, std::span<std::byte> into);
// nullopt if the datagram is too short.
std::optional<DatagramHead> decode_head(std::span<const std::byte> datagram, bool wide);

inline constexpr std::size_t kGreetingBytes = 4;

// A client opens a UDP stream with a greeting; that of versions before about 3.11 differs.
std::span<const std::byte, kGreetingBytes> greeting();
// The server's answer to this greeting; nullopt if it is no greeting.
std::optional<std::span<const std::byte, kGreetingBytes>> answer_to(std::span<const std::byte> got);
bool is_answer(std::span<const std::byte> datagram);

}  // namespace chokepoint::probe::iperf3
