#include "probe/nuttcp/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "base/net/headers.h"

namespace chokepoint::probe::nuttcp {
namespace {

constexpr std::string_view kWhat = "nuttcp parameters";
constexpr std::uint64_t kUnlimitedBlocks = std::numeric_limits<int>::max();
constexpr std::uint64_t kUnlimitedRate = 0xffffffff;
constexpr std::uint64_t kMachineReadable = 64;
constexpr std::uint64_t kPlainFormat = 2048;
constexpr int kMaxBlockBytes = 16 * 1024 * 1024;
constexpr int kMaxDatagramBytes = net::kMaxUdpPayloadBytes;
constexpr double kMaxSeconds = 86400;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view{}
                                         : text.substr(first, last - first + 1);
}

// The fields of one line, by name. Keeps the first error.
class Line {
 public:
  explicit Line(std::string_view text) : text_(text) {}

  // The field's text; empty if it is missing.
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
    // Not "value < least || value > most", which is false for NaN.
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
  parameters.time_s = line.number("timeout", 0.0, kMaxSeconds, 0.0);
  parameters.interval_s = line.number("interval", 0.0, kMaxSeconds, 0.0);
  if (!parameters.blocks && parameters.time_s == 0) {
    line.wrong("timeout");
  }
  const auto rate = line.number<std::uint64_t>("rate", 0, std::uint64_t{1} << 40, 0);
  if (rate != 0 && rate != kUnlimitedRate) {
    parameters.rate_kbits_per_s = rate;
  }
}

void read_transport(Line& line, Parameters& parameters) {
  const int most_block = parameters.udp ? kMaxDatagramBytes : kMaxBlockBytes;
  // Marks are datagrams of four bytes, so data must be longer.
  parameters.block_bytes = line.number("buflen", parameters.udp ? 5 : 1, most_block, 0);
  if (parameters.block_bytes == 0) {
    line.wrong("buflen");
  }
  parameters.streams = line.number("nstream", 1, kMaxStreams, 1);
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

constexpr double kMebibyte = 1024.0 * 1024.0;
constexpr double kMaxValue = 1e12;

// The number behind "key=" in a line; nullopt if there is none, or one out of bounds.
std::optional<double> value_of(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    const std::size_t begin = at + key.size();
    if ((at != 0 && line[at - 1] != ' ') || begin >= line.size() || line[begin] != '=') {
      continue;
    }
    double value = 0;
    const auto [end, error] =
        std::from_chars(line.data() + begin + 1, line.data() + line.size(), value);
    if (error == std::errc{} && value >= 0 && value <= kMaxValue) {
      return value;
    }
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> count_of(std::string_view line, std::string_view key) {
  const std::optional<double> value = value_of(line, key);
  return value ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
}

template <class T>
void keep(std::optional<T>& kept, const std::optional<T>& seen) {
  kept = seen ? seen : kept;
}

// True if the line holds the amount and the duration.
bool read_line(std::string_view line, ResultText& results) {
  keep(results.retransmits, count_of(line, "retrans"));
  keep(results.cpu_percent, value_of(line, "cpu"));
  const std::optional<double> amount = value_of(line, "megabytes");
  const std::optional<double> duration_s = value_of(line, "real_seconds");
  if (!amount || !duration_s) {
    return false;
  }
  results.mebibytes = *amount;
  results.seconds = *duration_s;
  return true;
}

std::string_view name_of(const Parameters& parameters) {
  return parameters.sender == Sender::Server ? "nuttcp-t" : "nuttcp-r";
}

std::string_view mode_of(const Parameters& parameters) { return parameters.udp ? "udp" : "tcp"; }

double per(double amount, double duration_s) { return duration_s > 0 ? amount / duration_s : 0; }

int percent(const Tally& tally) {
  return static_cast<int>(100 * std::clamp(per(tally.cpu_seconds, tally.seconds), 0.0, 99.0));
}

bool server_connects(const Parameters& parameters) {
  return !parameters.udp && (parameters.sender == Sender::Server) != parameters.flipped;
}

std::string connection_line(const Parameters& parameters, const Tally& tally,
                            std::string_view peer) {
  const std::string_view name = name_of(parameters);
  const bool keys = parameters.machine_readable;
  if (parameters.udp) {
    return {};
  }
  if (!server_connects(parameters)) {
    return fmt::format("{}: accept{}{}\n", name, keys ? "=" : " from ", peer);
  }
  std::string line = fmt::format("{}: connect{}{}", name, keys ? "=" : " to ", peer);
  std::string details;
  if (tally.mss) {
    details += keys ? fmt::format(" mss={}", *tally.mss) : fmt::format(" mss={},", *tally.mss);
  }
  if (tally.rtt_ms) {
    details += keys ? fmt::format(" rtt_ms={:.3f}", *tally.rtt_ms)
                    : fmt::format(" RTT={:.3f} ms", *tally.rtt_ms);
  }
  return line + (keys || details.empty() ? details : " with" + details) + "\n";
}

std::string retransmits_line(const Parameters& parameters, const Tally& tally) {
  if (!tally.retransmits || parameters.udp) {
    return {};
  }
  return fmt::format("{}: retrans{}{}\n", name_of(parameters),
                     parameters.machine_readable ? "=" : " = ", *tally.retransmits);
}

// The same figures for programs and for people.
constexpr std::string_view kClosingKeys =
    "{0}: megabytes={1:.4f} real_seconds={2:.2f} rate_KBps={3:.2f} rate_Mbps={4:.4f}\n"
    "{0}: megabytes={1:.4f} cpu_seconds={5:.2f} KB_per_cpu_second={6:.2f}\n"
    "{7}"
    "{0}: io_calls={8} msec_per_call={9:.2f} calls_per_sec={10:.2f}\n"
    "{0}: stats=cpu user=0.0 system={5:.1f} elapsed={11}:{12:02} cpu={13}% "
    "memory=0i+0d-0maxrss io=0+0pf swaps=0+0csw\n";
constexpr std::string_view kClosingWords =
    "{0}: {1:.4f} MB in {2:.2f} real seconds = {3:.2f} KB/sec = {4:.4f} Mbps\n"
    "{0}: {1:.4f} MB in {5:.2f} CPU seconds = {6:.2f} KB/cpu sec\n"
    "{7}"
    "{0}: {8} I/O calls, msec/call = {9:.2f}, calls/sec = {10:.2f}\n"
    "{0}: 0.0user {5:.1f}sys {11}:{12:02}real {13}% 0i+0d 0maxrss 0+0pf 0+0csw\n";

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
  if (text.size() > kMaxLineBytes) {
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

std::uint64_t ResultText::bytes() const {
  return static_cast<std::uint64_t>(std::llround(mebibytes * kMebibyte));
}

std::uint64_t ResultText::datagrams(int bytes) const {
  return static_cast<std::uint64_t>(std::llround(mebibytes * kMebibyte / std::max(bytes, 1)));
}

Result<ResultText> read_results(std::string_view text) {
  ResultText results;
  bool complete = false;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    complete = (line.starts_with("nuttcp-") && read_line(line, results)) || complete;
  }
  if (!complete) {
    return fail(ErrorKind::Malformed, "read", "nuttcp's results",
                "the amount and the time are not in them");
  }
  return results;
}

std::string opening_text(const Parameters& parameters, const Tally& tally, std::string_view peer) {
  const std::string_view name = name_of(parameters);
  const std::string_view gap = parameters.machine_readable ? " " : ", ";
  const std::string_view port = parameters.machine_readable ? " mode=" : " ";
  std::string text =
      fmt::format("{0}: v{1}: socket\n{0}: buflen={2}{3}nstream={4}{3}port={5}{6}{7}\n", name,
                  kOwnVersion.text(), parameters.block_bytes, gap, parameters.streams,
                  parameters.data_port, port, mode_of(parameters));
  return text + connection_line(parameters, tally, peer);
}

std::string interval_line(const Parameters& parameters, std::uint64_t bytes, double duration_s) {
  const double amount = static_cast<double>(bytes) / kMebibyte;
  const double rate = per(static_cast<double>(bytes) * 8 / 1e6, duration_s);
  return parameters.machine_readable
             ? fmt::format("megabytes={:.4f} real_sec={:.2f} rate_Mbps={:.4f}\n", amount,
                           duration_s, rate)
             : fmt::format("{:10.4f} MB / {:6.2f} sec = {:9.4f} Mbps\n", amount, duration_s, rate);
}

std::string closing_text(const Parameters& parameters, const Tally& tally) {
  const double amount = static_cast<double>(tally.bytes) / kMebibyte;
  const double calls = static_cast<double>(tally.calls);
  return fmt::format(fmt::runtime(parameters.machine_readable ? kClosingKeys : kClosingWords),
                     name_of(parameters), amount, tally.seconds, per(amount * 1024, tally.seconds),
                     per(amount * kMebibyte * 8 / 1e6, tally.seconds), tally.cpu_seconds,
                     per(amount * 1024, tally.cpu_seconds), retransmits_line(parameters, tally),
                     tally.calls, per(tally.seconds * 1000, calls), per(calls, tally.seconds),
                     static_cast<int>(tally.seconds) / 60, static_cast<int>(tally.seconds) % 60,
                     percent(tally));
}

}  // namespace chokepoint::probe::nuttcp
