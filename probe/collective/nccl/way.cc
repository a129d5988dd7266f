#include "probe/collective/nccl/way.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

namespace chokepoint::probe::collective::nccl {
namespace {

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
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ",") + name;
  }
  return text;
}

bool goes_by(const LogFacts& log, std::string_view route) {
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

std::string better_than_sockets(const Seen& seen, const Way& way) {
  if (const std::string device = active_rdma(seen.rdma); !device.empty()) {
    return fmt::format(
        "NCCL fell back to sockets, and {} is an active RDMA device: see NCCL_DEBUG=INFO for why "
        "it was not taken (NCCL_IB_DISABLE, NCCL_IB_HCA, libibverbs)",
        device);
  }
  if (std::string other = better_than(way.interface, seen.host, nccl_hints()); !other.empty()) {
    return other;
  }
  const int sockets = sockets_of(seen.log).value_or(1);
  if (way.link_mbps.value_or(0) >= kFastLinkMbps && sockets < kEnoughSockets) {
    return fmt::format(
        "{} socket{} a channel may not fill {:.0f} Mb/s: set NCCL_SOCKET_NTHREADS=4 and "
        "NCCL_NSOCKS_PERTHREAD=4",
        sockets, sockets == 1 ? "" : "s", *way.link_mbps);
  }
  return {};
}

std::string better_than_this(const Seen& seen, const Way& way) {
  if (seen.shares_gpu) {
    return "ranks share a GPU and go by sockets: this tries out the way, and is no measure of it; "
           "give each rank a GPU of its own";
  }
  if (goes_by(seen.log, "NET/Socket")) {
    return better_than_sockets(seen, way);
  }
  if (goes_by(seen.log, "NET/IB") && !seen.log.gpu_direct) {
    return "data pass the host's memory: GPUDirect RDMA is off; load nvidia-peermem, and see that "
           "NIC and GPU share a PCIe switch";
  }
  return {};
}

}  // namespace

Way way_of(const Seen& seen) {
  Way way;
  if (goes_by(seen.log, "NET/Socket")) {
    way = way_of_sockets(seen.connections, seen.ranks, seen.host, nccl_hints());
    way.sockets_per_peer = sockets_of(seen.log);
  }
  way.transport = transports_of(seen.log.routes);
  way.channels = seen.log.channels;
  if (std::string device = device_of(seen.log); !device.empty()) {
    way.interface = std::move(device);
  }
  way.better = better_than_this(seen, way);
  return way;
}

}  // namespace chokepoint::probe::collective::nccl
