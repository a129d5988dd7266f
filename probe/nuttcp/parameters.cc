#include "probe/nuttcp/parameters.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <string>

namespace chokepoint::probe::nuttcp {
namespace {

constexpr std::string_view kWhat = "nuttcp parameters";
constexpr std::uint64_t kUnlimitedBlocks = std::numeric_limits<int>::max();
constexpr std::uint64_t kUnlimitedRate = 0xffffffff;
constexpr std::uint64_t kMachineReadable = 64;
constexpr std::uint64_t kPlainFormat = 2048;
constexpr int kMostBlock = 16 * 1024 * 1024;
constexpr int kMostDatagram = 65507;
constexpr double kMostTime = 86400;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view{}
                                         : text.substr(first, last - first + 1);
}

// The fields of one line, by name; the first that is wrong is remembered.
class Line {
 public:
  explicit Line(std::string_view text) : text_(text) {}

  // As it stands there, empty where it does not.
  std::string_view find(std::string_view name) const {
    for (std::string_view rest = text_; !rest.empty();) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string_view field = rest.substr(0, comma);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      const std::size_t equals = field.find('=');
      if (equals != std::string_view::npos && trimmed(field.substr(0, equals)) == name) {
        return trimmed(field.substr(equals + 1));
      }
    }
    return {};
  }

  template <class T>
  T number(std::string_view name, T least, T most, T otherwise) {
    return checked(name, least, most, otherwise, [](std::string_view text, T& value) {
      return std::from_chars(text.data(), text.data() + text.size(), value);
    });
  }
  int hexadecimal(std::string_view name, int most) {
    return checked(name, 0, most, 0, [](std::string_view text, int& value) {
      return std::from_chars(text.data(), text.data() + text.size(), value, 16);
    });
  }
  bool flag(std::string_view name) { return number(name, 0, 1, 0) == 1; }

  void wrong(std::string_view name) {
    if (!error_) {
      error_ = Error{.kind = ErrorKind::Malformed,
                     .operation = "read",
                     .subject = std::string(kWhat),
                     .reason = fmt::format("'{}' is missing or makes no sense", name)};
    }
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  template <class T, class Convert>
  T checked(std::string_view name, T least, T most, T otherwise, Convert convert) {
    const std::string_view text = find(name);
    if (text.empty()) {
      return otherwise;
    }
    T value{};
    const auto [end, error] = convert(text, value);
    // Not "value < least || value > most": no number is neither.
    if (error != std::errc{} || end != text.data() + text.size() ||
        !(value >= least && value <= most)) {
      wrong(name);
      return otherwise;
    }
    return value;
  }

  std::string_view text_;
  std::optional<Error> error_;
};

std::optional<int> unless_zero(int value) {
  return value == 0 ? std::nullopt : std::optional(value);
}

void read_extent(Line& line, Parameters& parameters) {
  const auto blocks =
      line.number<std::uint64_t>("nbuf", 0, std::numeric_limits<std::uint64_t>::max(), 0);
  if (blocks != 0 && blocks != kUnlimitedBlocks) {
    parameters.blocks = blocks;
  }
  parameters.time_s = line.number("timeout", 0.0, kMostTime, 0.0);
  parameters.interval_s = line.number("interval", 0.0, kMostTime, 0.0);
  if (!parameters.blocks && parameters.time_s == 0) {
    line.wrong("timeout");
  }
  const auto rate = line.number<std::uint64_t>("rate", 0, std::uint64_t{1} << 40, 0);
  if (rate != 0 && rate != kUnlimitedRate) {
    parameters.rate_kbits_per_s = rate;
  }
}

void read_transport(Line& line, Parameters& parameters) {
  const int most_block = parameters.udp ? kMostDatagram : kMostBlock;
  // Marks are datagrams of four bytes, so data must be longer.
  parameters.block_bytes = line.number("buflen", parameters.udp ? 5 : 1, most_block, 0);
  if (parameters.block_bytes == 0) {
    line.wrong("buflen");
  }
  parameters.streams = line.number("nstream", 1, kMostStreams, 1);
  parameters.data_port = line.number<std::uint16_t>("port", 1024, 65000, kDataPort);
  parameters.window_bytes = unless_zero(line.number("win", 0, 1 << 30, 0));
  parameters.mss = unless_zero(line.number("datamss", 0, 65535, 0));
  parameters.traffic_class = line.hexadecimal("tos", 255);
  parameters.no_delay = line.flag("nodelay");
}

Result<> check_spoken(Line& line) {
  const auto asked_for = [&](const char* what) {
    return fail(ErrorKind::Unsupported, "read", kWhat, fmt::format("{} is not supported", what));
  };
  if (line.number("multicast", 0, 255, 0) != 0) {
    return asked_for("multicast");
  }
  if (line.flag("traceroute")) {
    return asked_for("traceroute");
  }
  const std::string_view other = line.find("thirdparty");
  return other.empty() || other == "_NULL_" ? Result<>{} : asked_for("a third party");
}

}  // namespace

std::string encode(const Parameters& parameters) {
  return fmt::format(
      "buflen = {}, nbuf = {}, win = {}, nstream = {}, rate = {}, port = {}, trans = {}, "
      "braindead = 0, timeout = {:.6f}, udp = {}, vers = {}, interval = {:.6f}, reverse = {}, "
      "format = {}, traceroute = 0, irate = 0, thirdparty = _NULL_ , multicast = 0 , "
      "datamss = {} , tos = {:X} , nbuf_bytes = 0 , rate_pps = 0 , nodelay = {}\n",
      parameters.block_bytes, parameters.blocks.value_or(kUnlimitedBlocks),
      parameters.window_bytes.value_or(0), parameters.streams,
      parameters.rate_kbits_per_s.value_or(kUnlimitedRate), parameters.data_port,
      parameters.sender == Sender::Client ? 1 : 0, parameters.time_s, parameters.udp ? 1 : 0,
      parameters.version.text(), parameters.interval_s, parameters.flipped ? 1 : 0,
      kPlainFormat | (parameters.machine_readable ? kMachineReadable : 0),
      parameters.mss.value_or(0), parameters.traffic_class, parameters.no_delay ? 1 : 0);
}

Result<Parameters> decode_parameters(std::string_view text) {
  if (text.size() > kLongestLine) {
    return fail(ErrorKind::Malformed, "read", kWhat, "the line is too long");
  }
  Line line(text);
  TRY(check_spoken(line));
  Parameters parameters{.udp = line.flag("udp"),
                        .sender = line.flag("trans") ? Sender::Client : Sender::Server,
                        .flipped = line.flag("reverse")};
  read_transport(line, parameters);
  read_extent(line, parameters);
  parameters.machine_readable =
      (line.number<std::uint64_t>("format", 0, 1 << 20, 0) & kMachineReadable) != 0;
  const Result<Version> version = read_hello(fmt::format("HELO nuttcp v{}", line.find("vers")));
  if (!version) {
    line.wrong("vers");
  }
  if (line.error()) {
    return std::unexpected(*line.error());
  }
  parameters.version = *version;
  return parameters;
}

}  // namespace chokepoint::probe::nuttcp
