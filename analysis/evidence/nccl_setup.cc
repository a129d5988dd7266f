#include "analysis/evidence/nccl_setup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

namespace chokepoint::analysis {
namespace {

using Setup = Claim::Setup;

bool is_set(const NcclProcess& process, const char* variable) {
  const auto found = process.variables.find(variable);
  return found != process.variables.end() && !found->second.starts_with('0');
}

bool has_network(const NcclProcess& process) { return process.network_channels > 0; }

bool is_by_sockets(const NcclProcess& process) { return process.network == "Socket"; }

// Interfaces that a container engine or a hypervisor makes: other hosts are behind a translation of
// addresses, or not there at all.
bool is_virtual(const std::string& interface) {
  constexpr std::array<std::string_view, 6> kNames{"docker", "virbr", "br-", "veth", "cni", "lo"};
  return std::ranges::any_of(kNames, [&](std::string_view name) {
    return name == "lo" ? interface == name : interface.starts_with(name);
  });
}

struct Rule {
  Setup setup;
  // Empty where it does not hold; else what is said of the process.
  std::string (*says)(const NcclProcess&);
};

std::string sockets_beside_rdma(const NcclProcess& process) {
  if (!is_by_sockets(process)) {
    return "";
  }
  if (is_set(process, "NCCL_IB_DISABLE")) {
    return "uses sockets because NCCL_IB_DISABLE is set";
  }
  return process.rdma_devices.empty() ? ""
                                      : fmt::format("uses sockets, and has the RDMA devices {}",
                                                    fmt::join(process.rdma_devices, ", "));
}

std::string virtual_interface(const NcclProcess& process) {
  const bool is_only = is_by_sockets(process) && process.ranks > 1 && has_network(process) &&
                       !process.interfaces.empty() &&
                       std::ranges::all_of(process.interfaces, is_virtual);
  return is_only ? fmt::format("goes by {}, which leads to no other host directly",
                               fmt::join(process.interfaces, ", "))
                 : "";
}

std::string one_card(const NcclProcess& process) {
  const bool is_one = process.network == "IB" && process.rdma_devices.size() > 1 &&
                      process.devices_used.size() == 1 && has_network(process);
  return is_one ? fmt::format("has {} RDMA devices and uses number {} alone",
                              process.rdma_devices.size(), *process.devices_used.begin())
                : "";
}

std::string no_gpu_direct(const NcclProcess& process) {
  const std::size_t refused = process.no_gpu_direct.size();
  if (process.network != "IB") {
    return "";
  }
  if (has_network(process)) {
    return process.direct_channels > 0
               ? ""
               : fmt::format(
                     "copies through the host's memory: none of its {} channels to other hosts "
                     "uses GPUDirect{}",
                     process.network_channels, refused > 0 ? ", which NCCL calls disabled" : "");
  }
  return refused > 0 && refused >= process.rdma_devices.size()
             ? fmt::format("copies through the host's memory: it calls GPUDirect disabled for {}",
                           fmt::join(process.no_gpu_direct, ", "))
             : "";
}

std::string no_peer_to_peer(const NcclProcess& process) {
  if (process.memory_channels == 0 || process.peer_channels > 0) {
    return "";
  }
  return is_set(process, "NCCL_P2P_DISABLE") ? "copies between its GPUs through the host's memory "
                                               "because NCCL_P2P_DISABLE is set"
         : process.is_peer_to_peer_refused
             ? "copies between its GPUs through the host's memory: NCCL calls P2P disabled"
             : "";
}

constexpr std::array kRules{Rule{Setup::Sockets, sockets_beside_rdma},
                            Rule{Setup::VirtualInterface, virtual_interface},
                            Rule{Setup::OneCard, one_card}, Rule{Setup::NoGpuDirect, no_gpu_direct},
                            Rule{Setup::NoPeerToPeer, no_peer_to_peer}};

// Of a job with several GPUs a process may use one card, and the job all: it is the job's cards
// that count.
bool uses_several_cards(const std::vector<const NcclProcess*>& all, const std::string& host) {
  std::set<std::string> used;
  for (const NcclProcess* each : all) {
    if (each->host == host) {
      used.insert(each->devices_used.begin(), each->devices_used.end());
    }
  }
  return used.size() > 1;
}

std::string hosts_text(const std::set<std::string>& hosts) {
  constexpr std::size_t kMaxNamedHosts = 4;
  if (hosts == std::set<std::string>{""}) {
    return "the log's host";
  }
  std::vector<std::string> named(
      hosts.begin(), std::next(hosts.begin(), static_cast<std::ptrdiff_t>(
                                                  std::min(kMaxNamedHosts, hosts.size()))));
  return fmt::format(
      "{}{}", fmt::join(named, ", "),
      hosts.size() > named.size() ? fmt::format(" and {} more", hosts.size() - named.size()) : "");
}

class Setups {
 public:
  explicit Setups(const std::vector<ToolFile>& files) {
    for (const ToolFile& file : files) {
      for (const NcclProcess& each : file.nccl) {
        all_.push_back(&each);
        from_ = from_.empty() ? file.file : from_;
      }
    }
  }

  std::vector<Claim> claims() const {
    std::vector<Claim> found;
    add_mixed(found);
    for (const Rule& rule : kRules) {
      add(rule, found);
    }
    return found;
  }

 private:
  Claim model(Setup setup) const {
    return {.tool = Tool::JobLog, .about = Claim::About::Setup, .setup = setup, .from = from_};
  }

  void add(const Rule& rule, std::vector<Claim>& found) const {
    std::set<std::string> hosts;
    std::string says;
    const NcclProcess* first = nullptr;
    for (const NcclProcess* each : all_) {
      std::string text = rule.says(*each);
      if (text.empty() || (rule.setup == Setup::OneCard && uses_several_cards(all_, each->host)) ||
          (rule.setup == Setup::NoGpuDirect && !leaves_host(*each))) {
        continue;
      }
      if (first == nullptr) {
        first = each;
        says = std::move(text);
      }
      hosts.insert(each->host);
    }
    if (first == nullptr) {
      return;
    }
    Claim claim = model(rule.setup);
    claim.host = first->host;
    claim.interface = first->interfaces.empty() ? "" : *first->interfaces.begin();
    claim.what = fmt::format("NCCL on {} {}", hosts_text(hosts), says);
    found.push_back(std::move(claim));
  }

  // By its channels, else by how many ranks there are.
  bool leaves_host(const NcclProcess& process) const {
    return has_network(process) ||
           process.ranks > std::ranges::count(all_, process.host, &NcclProcess::host);
  }

  // Some ranks by another network, or of another version, than the others.
  void add_mixed(std::vector<Claim>& found) const {
    std::map<std::string, std::set<std::string>> networks;
    std::map<std::string, std::set<std::string>> versions;
    for (const NcclProcess* each : all_) {
      if (!each->network.empty()) networks[each->network].insert(each->host);
      if (!each->version.empty()) versions[each->version].insert(each->host);
    }
    add_mixed(networks, Setup::Networks, "network", found);
    add_mixed(versions, Setup::Versions, "version", found);
  }

  void add_mixed(const std::map<std::string, std::set<std::string>>& kinds, Setup setup,
                 std::string_view word, std::vector<Claim>& found) const {
    if (kinds.size() < 2) {
      return;
    }
    std::vector<std::string> texts;
    const auto rarest =
        std::ranges::min_element(kinds, {}, [](const auto& each) { return each.second.size(); });
    for (const auto& [kind, hosts] : kinds) {
      texts.push_back(fmt::format("{} on {}", kind, hosts_text(hosts)));
    }
    Claim claim = model(setup);
    claim.host = *rarest->second.begin();
    claim.what = fmt::format("ranks differ in NCCL's {}: {}", word, fmt::join(texts, "; "));
    found.push_back(std::move(claim));
  }

  std::vector<const NcclProcess*> all_;
  std::string from_;
};

}  // namespace

std::vector<Claim> claims_of_nccl_setup(const std::vector<ToolFile>& all) {
  return Setups(all).claims();
}

}  // namespace chokepoint::analysis
