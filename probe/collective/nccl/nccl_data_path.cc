#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>

#include "probe/collective/nccl/nccl.h"

namespace chokepoint::probe::collective::nccl {
namespace {

constexpr int kMaxNumber = 10'000;  // far above any count in the log

std::optional<int> number_at(std::string_view text) {
  int number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool sound = problem == std::errc() && number >= 0 && number <= kMaxNumber;
  return sound ? std::optional(number) : std::nullopt;
}

// The text after these words; nullopt: they do not occur.
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

constexpr double kFastLinkMbps = 25000;
constexpr int kEnoughSockets = 4;

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
  return result;
}

// "NET/Socket" is socket, "P2P/CUMEM" p2p, "SHM/direct" shm.
std::string transport_of(std::string_view route) {
  const std::size_t slash = route.find('/');
  const bool by_network = route.starts_with("NET/");
  return lower(by_network ? route.substr(slash + 1) : route.substr(0, slash));
}

std::string transports_of(const std::vector<std::string>& routes) {
  std::vector<std::string> names;
  for (const std::string& route : routes) {
    const std::string name = transport_of(route);
    if (std::ranges::find(names, name) == names.end()) {
      names.push_back(name);
    }
  }
  return fmt::format("{}", fmt::join(names, ","));
}

bool uses(const LogFacts& log, std::string_view route) {
  return std::ranges::find(log.routes, route) != log.routes.end();
}

std::string device_of(const LogFacts& log) {
  const auto number = static_cast<std::size_t>(log.device.value_or(0));
  return log.device && number < log.devices.size() ? log.devices[number] : std::string();
}

std::optional<int> sockets_of(const LogFacts& log) {
  if (!log.socket_threads || !log.sockets_per_thread) {
    return std::nullopt;
  }
  return *log.socket_threads * *log.sockets_per_thread;
}

std::string active_rdma(const std::vector<host::RdmaDevice>& devices) {
  const auto active = std::ranges::find_if(devices, [](const host::RdmaDevice& device) {
    return std::ranges::any_of(device.ports, host::is_active);
  });
  return active == devices.end() ? std::string() : active->name;
}

std::string better_than_sockets(const Seen& seen, const DataPath& data_path) {
  if (const std::string device = active_rdma(seen.rdma); !device.empty()) {
    return fmt::format(
        "NCCL fell back to sockets, and {} is an active RDMA device: see NCCL_DEBUG=INFO for why "
        "it was not taken (NCCL_IB_DISABLE, NCCL_IB_HCA, libibverbs)",
        device);
  }
  if (std::string other = better_than(data_path.interface, seen.host, nccl_hints());
      !other.empty()) {
    return other;
  }
  const int sockets = sockets_of(seen.log).value_or(1);
  if (data_path.link_mbps.value_or(0) >= kFastLinkMbps && sockets < kEnoughSockets) {
    return fmt::format(
        "{} socket{} a channel may not fill {:.0f} Mb/s: set NCCL_SOCKET_NTHREADS=4 and "
        "NCCL_NSOCKS_PERTHREAD=4",
        sockets, sockets == 1 ? "" : "s", *data_path.link_mbps);
  }
  return {};
}

std::string better_than_this(const Seen& seen, const DataPath& data_path) {
  if (seen.shares_gpu) {
    return "ranks share a GPU and use sockets: the result shows that the path works, not how fast "
           "it is; give each rank its own GPU";
  }
  if (uses(seen.log, "NET/Socket")) {
    return better_than_sockets(seen, data_path);
  }
  if (uses(seen.log, "NET/IB") && !seen.log.gpu_direct) {
    return "data pass the host's memory: GPUDirect RDMA is off; load nvidia-peermem, and see that "
           "NIC and GPU share a PCIe switch";
  }
  return {};
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

DataPath data_path_of(const Seen& seen) {
  DataPath data_path;
  if (uses(seen.log, "NET/Socket")) {
    data_path = data_path_of_sockets(seen.connections, seen.ranks, seen.host, nccl_hints());
    data_path.sockets_per_peer = sockets_of(seen.log);
  }
  data_path.transport = transports_of(seen.log.routes);
  data_path.channels = seen.log.channels;
  if (std::string device = device_of(seen.log); !device.empty()) {
    data_path.interface = std::move(device);
  }
  data_path.better = better_than_this(seen, data_path);
  return data_path;
}

}  // namespace chokepoint::probe::collective::nccl
