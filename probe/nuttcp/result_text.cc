#include "probe/nuttcp/result_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace chokepoint::probe::nuttcp {
namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;
constexpr double kMostMebibytes = 1e12;
constexpr std::size_t kMostIntervals = 10'000;

// The number behind "key=" in a line; nothing where there is none that makes sense.
std::optional<double> value_of(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    const std::size_t begin = at + key.size();
    if ((at != 0 && line[at - 1] != ' ') || begin >= line.size() || line[begin] != '=') {
      continue;
    }
    double value = 0;
    const auto [end, error] =
        std::from_chars(line.data() + begin + 1, line.data() + line.size(), value);
    if (error == std::errc{} && value >= 0 && value <= kMostMebibytes) {
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

void read_interval(std::string_view line, ResultText& results) {
  const std::optional<double> amount = value_of(line, "megabytes");
  const std::optional<double> duration_s = value_of(line, "real_sec");
  if (amount && duration_s && results.intervals.size() < kMostIntervals) {
    results.intervals.push_back(
        {.mebibytes = *amount, .seconds = *duration_s, .retransmits = count_of(line, "retrans")});
  }
}

template <class T>
void keep(std::optional<T>& kept, const std::optional<T>& seen) {
  kept = seen ? seen : kept;
}

// True where the line says how much came in how long.
bool read_line(std::string_view line, ResultText& results) {
  results.transmitter = line.starts_with("nuttcp-t:");
  keep(results.retransmits, count_of(line, "retrans"));
  keep(results.rtt_ms, value_of(line, "rtt_ms"));
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

std::string closing_keys(const Parameters& parameters, const Tally& tally) {
  const std::string_view name = name_of(parameters);
  const double amount = static_cast<double>(tally.bytes) / kMebibyte;
  const double calls = static_cast<double>(tally.calls);
  return fmt::format(
      "{0}: megabytes={1:.4f} real_seconds={2:.2f} rate_KBps={3:.2f} rate_Mbps={4:.4f}\n"
      "{0}: megabytes={1:.4f} cpu_seconds={5:.2f} KB_per_cpu_second={6:.2f}\n"
      "{7}"
      "{0}: io_calls={8} msec_per_call={9:.2f} calls_per_sec={10:.2f}\n"
      "{0}: stats=cpu user=0.0 system={5:.1f} elapsed={11}:{12:02} cpu={13}% "
      "memory=0i+0d-0maxrss io=0+0pf swaps=0+0csw\n",
      name, amount, tally.seconds, per(amount * 1024, tally.seconds),
      per(amount * kMebibyte * 8 / 1e6, tally.seconds), tally.cpu_seconds,
      per(amount * 1024, tally.cpu_seconds), retransmits_line(parameters, tally), tally.calls,
      per(tally.seconds * 1000, calls), per(calls, tally.seconds),
      static_cast<int>(tally.seconds) / 60, static_cast<int>(tally.seconds) % 60, percent(tally));
}

std::string closing_words(const Parameters& parameters, const Tally& tally) {
  const std::string_view name = name_of(parameters);
  const double amount = static_cast<double>(tally.bytes) / kMebibyte;
  const double calls = static_cast<double>(tally.calls);
  return fmt::format(
      "{0}: {1:.4f} MB in {2:.2f} real seconds = {3:.2f} KB/sec = {4:.4f} Mbps\n"
      "{0}: {1:.4f} MB in {5:.2f} CPU seconds = {6:.2f} KB/cpu sec\n"
      "{7}"
      "{0}: {8} I/O calls, msec/call = {9:.2f}, calls/sec = {10:.2f}\n"
      "{0}: 0.0user {5:.1f}sys {11}:{12:02}real {13}% 0i+0d 0maxrss 0+0pf 0+0csw\n",
      name, amount, tally.seconds, per(amount * 1024, tally.seconds),
      per(amount * kMebibyte * 8 / 1e6, tally.seconds), tally.cpu_seconds,
      per(amount * 1024, tally.cpu_seconds), retransmits_line(parameters, tally), tally.calls,
      per(tally.seconds * 1000, calls), per(calls, tally.seconds),
      static_cast<int>(tally.seconds) / 60, static_cast<int>(tally.seconds) % 60, percent(tally));
}

}  // namespace

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
    if (line.starts_with("nuttcp-")) {
      complete = read_line(line, results) || complete;
    } else {
      read_interval(line, results);
    }
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
  return parameters.machine_readable ? closing_keys(parameters, tally)
                                     : closing_words(parameters, tally);
}

}  // namespace chokepoint::probe::nuttcp
