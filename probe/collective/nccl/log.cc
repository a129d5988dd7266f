#include "probe/collective/nccl/log.h"

#include <algorithm>
#include <charconv>

namespace chokepoint::probe::collective::nccl {
namespace {

// What NCCL counts here is far below.
constexpr int kMost = 10'000;

std::optional<int> number_at(std::string_view text) {
  int number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool sound = problem == std::errc() && number >= 0 && number <= kMost;
  return sound ? std::optional(number) : std::nullopt;
}

// What stands behind these words; nothing where they do not occur.
std::optional<std::string_view> after(std::string_view line, std::string_view words) {
  const std::size_t at = line.find(words);
  return at == std::string_view::npos ? std::nullopt
                                      : std::optional(line.substr(at + words.size()));
}

std::string_view until(std::string_view text, std::string_view ends) {
  return text.substr(0, text.find_first_of(ends));
}

// "[0]eth0:10.0.0.1<0> [1]eth1:…": names up to the colon.
std::vector<std::string> numbered_names(std::string_view text) {
  std::vector<std::string> names;
  text = until(text, ";");
  for (std::size_t at = text.find('['); at != std::string_view::npos; at = text.find('[', at)) {
    const std::size_t close = text.find(']', at);
    if (close == std::string_view::npos) {
      break;
    }
    if (number_at(text.substr(at + 1)) == static_cast<int>(names.size())) {
      names.emplace_back(until(text.substr(close + 1), ": "));
    }
    at = close;
  }
  return names;
}

// "NET/Socket/0/GDRDMA" goes by "NET/Socket".
std::string_view route_of(std::string_view path) {
  const std::size_t first = path.find('/');
  return first == std::string_view::npos ? path : path.substr(0, path.find('/', first + 1));
}

void read_channel(std::string_view path, LogFacts& facts) {
  const std::string route(route_of(path));
  if (std::ranges::find(facts.routes, route) == facts.routes.end()) {
    facts.routes.push_back(route);
  }
  facts.gpu_direct = facts.gpu_direct || path.find("GDRDMA") != std::string_view::npos;
  if (!facts.device && path.starts_with("NET/") && path.size() > route.size()) {
    facts.device = number_at(path.substr(route.size() + 1));
  }
}

void read_line(std::string_view line, LogFacts& facts) {
  if (const auto network = after(line, "INFO Using network ")) {
    facts.network = until(*network, " ");
  } else if (const auto devices = after(line, " : Using [0]");
             devices && line.find("NET/") != std::string_view::npos) {
    facts.devices = numbered_names(line.substr(line.size() - devices->size() - 3));
  } else if (const auto threads = after(line, "NET/Socket: Using ")) {
    facts.socket_threads = number_at(*threads);
    facts.sockets_per_thread = number_at(after(*threads, " threads and ").value_or(""));
  } else if (line.find(" coll channels") != std::string_view::npos) {
    facts.channels = number_at(after(line, "INFO ").value_or(""));
  } else if (line.find("Channel ") != std::string_view::npos) {
    if (const auto path = after(line, " via ")) {
      read_channel(until(*path, " "), facts);
    }
  }
}

}  // namespace

LogFacts read_log(std::string_view text) {
  LogFacts facts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    read_line(text.substr(0, end), facts);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return facts;
}

}  // namespace chokepoint::probe::collective::nccl
