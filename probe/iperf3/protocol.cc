#include "probe/iperf3/protocol.h"

#include <fmt/format.h>

#include <algorithm>
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

std::array<std::byte, 4> big_endian(std::uint32_t value) {
  return std::bit_cast<std::array<std::byte, 4>>(
      std::endian::native == std::endian::little ? __builtin_bswap32(value) : value);
}

std::uint32_t from_big_endian(std::span<const std::byte, 4> raw) {
  std::uint32_t value = 0;
  for (const std::byte byte : raw) {
    value = value << 8 | std::to_integer<std::uint32_t>(byte);
  }
  return value;
}

std::string_view meaning_of(std::int32_t code) {
  switch (code) {
    case 5:
      return "the test is too long";
    case 6:
      return "too many parallel streams";
    case 7:
      return "the block size is too large";
    case 27:
      return "the total rate is above the server's limit";
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
    case 203:
      return "the streams could not be made";
    default:
      return "";
  }
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
  return big_endian(static_cast<std::uint32_t>(length));
}

Result<std::size_t> decode_length(std::span<const std::byte, 4> raw, std::size_t most) {
  const std::uint32_t length = from_big_endian(raw);
  if (length == 0 || length > most) {
    return fail(ErrorKind::Malformed, "read message", "iperf3's peer",
                fmt::format("it announces {} bytes where at most {} make sense", length, most));
  }
  return length;
}

int stream_id(int index) { return index == 0 ? 1 : index + 2; }

std::array<std::byte, 8> encode(const ServerError& error) {
  std::array<std::byte, 8> raw{};
  std::ranges::copy(big_endian(std::bit_cast<std::uint32_t>(error.code)), raw.begin());
  std::ranges::copy(big_endian(std::bit_cast<std::uint32_t>(error.system_code)), raw.begin() + 4);
  return raw;
}

ServerError decode_server_error(std::span<const std::byte, 8> raw) {
  return {.code = std::bit_cast<std::int32_t>(from_big_endian(raw.first<4>())),
          .system_code = std::bit_cast<std::int32_t>(from_big_endian(raw.last<4>()))};
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

}  // namespace chokepoint::probe::iperf3
