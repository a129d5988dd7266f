#include "probe/iperf3/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace chokepoint::probe::iperf3 {
namespace {

constexpr std::array kStates = {
    std::pair{State::TestStart, std::string_view("TEST_START")},
    std::pair{State::TestRunning, std::string_view("TEST_RUNNING")},
    std::pair{State::TestEnd, std::string_view("TEST_END")},
    std::pair{State::ParamExchange, std::string_view("PARAM_EXCHANGE")},
    std::pair{State::CreateStreams, std::string_view("CREATE_STREAMS")},
    std::pair{State::ServerTerminate, std::string_view("SERVER_TERMINATE")},
    std::pair{State::ClientTerminate, std::string_view("CLIENT_TERMINATE")},
    std::pair{State::ExchangeResults, std::string_view("EXCHANGE_RESULTS")},
    std::pair{State::DisplayResults, std::string_view("DISPLAY_RESULTS")},
    std::pair{State::IperfStart, std::string_view("IPERF_START")},
    std::pair{State::IperfDone, std::string_view("IPERF_DONE")},
    std::pair{State::AccessDenied, std::string_view("ACCESS_DENIED")},
    std::pair{State::ServerError, std::string_view("SERVER_ERROR")},
};

constexpr std::string_view kCookieAlphabet = "abcdefghijklmnopqrstuvwxyz234567";

std::string_view meaning_of(std::int32_t code) {
  switch (code) {
    case 5:
      return "the test is too long";
    case 6:
      return "too many parallel streams";
    case 7:
      return "the block size is too large";
    case 8:
    case 141:
      return "the socket buffers cannot be as large as was asked for";
    case 27:
      return "the total rate is above the server's limit";
    case 37:
      return "the test is longer than the server allows";
    case 114:
      return "it could not read the parameters";
    case 120:
      return "the server ended the test";
    case 121:
      return "it is busy with another test";
    case 131:
      return "it does not speak this protocol";
    case 134:
      return "it does not have this congestion control";
    case 142:
      return "the server's authentication failed";
    case 160:
      return "the server's time for a test is over";
    case 200:
    case 203:
      return "the streams could not be made";
    default:
      return "";
  }
}

using Greeting = std::array<std::byte, kGreetingBytes>;

constexpr Greeting bytes_of(unsigned a, unsigned b, unsigned c, unsigned d) {
  return {std::byte(a), std::byte(b), std::byte(c), std::byte(d)};
}

// iperf3 sends these integers in the host's order, so a big-endian client's are swapped.
constexpr Greeting kGreeting = bytes_of('9', '8', '7', '6');
constexpr Greeting kSwappedGreeting = bytes_of('6', '7', '8', '9');
constexpr Greeting kOldGreeting = bytes_of(0x15, 0xcd, 0x5b, 0x07);  // 123456789
constexpr Greeting kGreetingAnswer = bytes_of('6', '7', '8', '9');
constexpr Greeting kSwappedGreetingAnswer = bytes_of('9', '8', '7', '6');
constexpr Greeting kOldGreetingAnswer = bytes_of(0xb1, 0x68, 0xde, 0x3a);  // 987654321

// Big-endian.
template <class T>
void put(T value, std::span<std::byte, sizeof(T)> into) {
  for (std::size_t i = into.size(); i-- > 0; value = static_cast<T>(value >> 8)) {
    into[i] = std::byte(value & 0xff);
  }
}

template <class T>
T get(std::span<const std::byte, sizeof(T)> from) {
  T value = 0;
  for (const std::byte byte : from) {
    value = static_cast<T>(value << 8 | std::to_integer<T>(byte));
  }
  return value;
}

}  // namespace

std::optional<State> state_of(std::byte raw) {
  const auto number = std::bit_cast<std::int8_t>(raw);
  const auto found = std::ranges::find(
      kStates, number, [](const auto& entry) { return std::to_underlying(entry.first); });
  return found == kStates.end() ? std::nullopt : std::optional(found->first);
}

std::string_view name_of(State state) {
  const auto found =
      std::ranges::find(kStates, state, [](const auto& entry) { return entry.first; });
  return found == kStates.end() ? "unknown state" : found->second;
}

Cookie make_cookie(std::span<const std::uint8_t, kCookieBytes - 1> random) {
  Cookie cookie{};
  std::ranges::transform(random, cookie.begin(), [](std::uint8_t value) {
    return kCookieAlphabet[value % kCookieAlphabet.size()];
  });
  return cookie;
}

bool is_cookie(std::span<const std::byte> raw) {
  const auto printable = [](std::byte byte) {
    return byte > std::byte{' '} && byte < std::byte{127};
  };
  return raw.size() == kCookieBytes && raw.back() == std::byte{0} &&
         std::ranges::all_of(raw.first(kCookieBytes - 1), printable);
}

std::array<std::byte, 4> encode_length(std::size_t length) {
  std::array<std::byte, 4> raw{};
  put(static_cast<std::uint32_t>(length), std::span(raw));
  return raw;
}

Result<std::size_t> decode_length(std::span<const std::byte, 4> raw, std::size_t most) {
  const std::uint32_t length = get<std::uint32_t>(raw);
  if (length == 0 || length > most) {
    return fail(ErrorKind::Malformed, "read message", "iperf3's peer",
                fmt::format("it announces {} bytes where at most {} make sense", length, most));
  }
  return length;
}

int stream_id(int index) { return index == 0 ? 1 : index + 2; }

std::array<std::byte, 8> encode(const ServerError& error) {
  std::array<std::byte, 8> raw{};
  put(std::bit_cast<std::uint32_t>(error.code), std::span(raw).first<4>());
  put(std::bit_cast<std::uint32_t>(error.system_code), std::span(raw).last<4>());
  return raw;
}

ServerError decode_server_error(std::span<const std::byte, 8> raw) {
  return {.code = static_cast<std::int32_t>(get<std::uint32_t>(raw.first<4>())),
          .system_code = static_cast<std::int32_t>(get<std::uint32_t>(raw.last<4>()))};
}

std::string describe(const ServerError& error) {
  const std::string_view meaning = meaning_of(error.code);
  std::string text = meaning.empty() ? fmt::format("iperf3's error {}", error.code)
                                     : fmt::format("{} (iperf3's error {})", meaning, error.code);
  if (error.system_code != 0) {
    text += fmt::format(": {}", from_errno(error.system_code, "", "").reason);
  }
  return text;
}

void encode(const DatagramHead& head, bool wide, std::span<std::byte> into) {
  put(head.seconds, into.subspan<0, 4>());
  put(head.microseconds, into.subspan<4, 4>());
  if (wide) {
    put(head.sequence, into.subspan<8, 8>());
  } else {
    put(static_cast<std::uint32_t>(head.sequence), into.subspan<8, 4>());
  }
}

std::optional<DatagramHead> decode_head(std::span<const std::byte> datagram, bool wide) {
  if (datagram.size() < head_bytes(wide)) {
    return std::nullopt;
  }
  return DatagramHead{.seconds = get<std::uint32_t>(datagram.subspan<0, 4>()),
                      .microseconds = get<std::uint32_t>(datagram.subspan<4, 4>()),
                      .sequence = wide ? get<std::uint64_t>(datagram.subspan<8, 8>())
                                       : get<std::uint32_t>(datagram.subspan<8, 4>())};
}

std::span<const std::byte, kGreetingBytes> greeting() { return kGreeting; }

std::optional<std::span<const std::byte, kGreetingBytes>> answer_to(
    std::span<const std::byte> got) {
  if (std::ranges::equal(got, kGreeting)) {
    return kGreetingAnswer;
  }
  if (std::ranges::equal(got, kSwappedGreeting)) {
    return kSwappedGreetingAnswer;
  }
  if (std::ranges::equal(got, kOldGreeting)) {
    return kOldGreetingAnswer;
  }
  return std::nullopt;
}

bool is_answer(std::span<const std::byte> datagram) {
  return std::ranges::equal(datagram, kGreetingAnswer) ||
         std::ranges::equal(datagram, kOldGreetingAnswer);
}

}  // namespace chokepoint::probe::iperf3
