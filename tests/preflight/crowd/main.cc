// usage: preflight_crowd [hosts=N] [port=P] [time=FACTOR] [FAULT…]
//
// Simulated agents on loopback addresses, until standard input ends. Writes their names as
// 'chokepoint preflight --host-file' takes them. A fault is one of
//   host=I:MBPS  pair=I,J:MBPS  loss=I,J:PERCENT  mtu=I:BYTES  hostile=I:WAY  hostile-every=N
//   group=HOSTS  uplink=MBPS  paths=N  trunk=SWITCH,PATH:MBPS
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <functional>
#include <string>
#include <vector>

#include "tests/preflight/crowd/crowd.h"

namespace {

using namespace chokepoint::preflight;
using namespace chokepoint::preflight::crowd;

struct Words {
  std::vector<double> numbers = {};
  std::string text = {};  // behind the colon, or all of it
};

Words split(const std::string& value) {
  Words words{.text = value.substr(value.find(':') + 1)};
  const char* at = value.data();
  const char* const end = at + value.size();
  double number = 0;
  while (at < end) {
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) {
      break;
    }
    words.numbers.push_back(number);
    at = next == end ? end : next + 1;
  }
  words.numbers.resize(3);
  return words;
}

void both_directions(Network& network, const Words& words, const Fault& fault) {
  const auto a = static_cast<HostIndex>(words.numbers[0]);
  const auto b = static_cast<HostIndex>(words.numbers[1]);
  network.paths_between[{a, b}] = fault;
  network.paths_between[{b, a}] = fault;
}

void mix_in_hostile(CrowdOptions& options, HostIndex every) {
  auto behaviour = static_cast<std::uint8_t>(Behaviour::Silent);
  for (HostIndex host = every - 1; host < options.hosts; host += every) {
    options.behaviours[host] = static_cast<Behaviour>(behaviour);
    behaviour = static_cast<Behaviour>(behaviour + 1) == Behaviour::ByteByByte
                    ? static_cast<std::uint8_t>(Behaviour::Silent)
                    : static_cast<std::uint8_t>(behaviour + 1);
  }
}

bool understand(CrowdOptions& options, const std::string& name, const Words& words) {
  Network& network = options.network;
  const auto first = static_cast<HostIndex>(words.numbers[0]);
  const auto second = static_cast<HostIndex>(words.numbers[1]);
  const double last = words.numbers[2];
  const std::map<std::string, std::function<void()>> known{
      {"hosts", [&] { options.hosts = first; }},
      {"port", [&] { options.port = static_cast<std::uint16_t>(first); }},
      {"time", [&] { options.time_factor = words.numbers[0]; }},
      {"host", [&] { network.hosts[first] = {.mbps = words.numbers[1]}; }},
      {"mtu", [&] { network.hosts[first] = {.mtu_bytes = static_cast<int>(second)}; }},
      {"pair", [&] { both_directions(network, words, {.mbps = last}); }},
      {"loss", [&] { both_directions(network, words, {.loss_percent = last}); }},
      {"hostile", [&] { options.behaviours[first] = behaviour_named(words.text); }},
      {"hostile-every", [&] { mix_in_hostile(options, first); }},
      {"group", [&] { network.group = first; }},
      {"uplink", [&] { network.uplink_mbps = words.numbers[0]; }},
      {"paths", [&] { network.paths = first; }},
      {"trunk", [&] { network.trunks[{first, second}] = {.mbps = last}; }}};
  const auto found = known.find(name);
  if (found != known.end()) {
    found->second();
  }
  return found != known.end();
}

}  // namespace

int main(int count, char** arguments) {
  CrowdOptions options;
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos ||
        !understand(options, word.substr(0, equals), split(word.substr(equals + 1)))) {
      fmt::print(stderr, "preflight_crowd: {}: not understood\n", word);
      return 2;
    }
  }
  const auto crowd = Crowd::start(std::move(options));
  if (!crowd) {
    fmt::print(stderr, "preflight_crowd: {}\n", chokepoint::describe(crowd.error()));
    return 1;
  }
  for (const auto& host : (*crowd)->hosts()) {
    fmt::print("{}:{}\n", host.host, host.port);
  }
  std::fclose(stdout);
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}
