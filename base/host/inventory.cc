#include "base/host/inventory.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/host/fact.h"
#include "base/host/kernel_text.h"
#include "base/net/address.h"
#include "base/net/resolver.h"
#include "base/sys/late.h"

namespace chokepoint::host {
namespace {

constexpr std::string_view kKernelName = "/proc/sys/kernel/hostname";
constexpr std::string_view kConfiguredName = "/etc/hostname";

std::optional<std::string> read_name(const sys::Root& root) {
  const std::optional<std::string> name = root.text(kKernelName);
  return name ? name : root.text(kConfiguredName);
}

}  // namespace

OwnName read_own_name(const sys::Root& root, Resolver& resolver) {
  OwnName own;
  own.name = read_name(root);
  if (!own.name) {
    return own;
  }
  Result<std::vector<net::Address>> addresses = resolver.resolve(*own.name);
  if (addresses) {
    own.addresses = *std::move(addresses);
  } else if (addresses.error().kind == ErrorKind::NotFound) {
    own.addresses.emplace();
  } else {
    own.error = std::move(addresses).error();
  }
  return own;
}

OwnName read_own_name(const sys::Root& root) { return read_own_name(root, *resolver_for(root)); }

OwnName unanswered_own_name(const sys::Root& root) {
  OwnName own{.name = read_name(root), .addresses = {}, .error = {}};
  own.error = Error{ErrorKind::Timeout,
                    "resolve",
                    own.name.value_or(""),
                    0,
                    "the resolver did not answer in time",
                    {}};
  return own;
}

void append_facts(const OwnName& own, Facts& facts) {
  FactList list(facts, "name");
  list.add("name", own.name, kKernelName);
  for (const net::Address& address : own.addresses.value_or(std::vector<net::Address>())) {
    list.add_text("address", address.text(), "getaddrinfo, /etc/hosts");
  }
}

namespace {

constexpr std::string_view kResolve = "resolve";

class SystemResolver : public Resolver {
 public:
  Result<std::vector<net::Address>> resolve(const std::string& name) override {
    return net::resolve(name, std::nullopt);
  }
};

class HostsFileResolver : public Resolver {
 public:
  explicit HostsFileResolver(const sys::Root& root) : root_(root) {}

  Result<std::vector<net::Address>> resolve(const std::string& name) override {
    const Result<std::string> hosts = root_.read("/etc/hosts");
    std::vector<net::Address> addresses;
    for (const std::string& line : lines_of(hosts.value_or(""))) {
      const std::vector<std::string> words = words_of(line.substr(0, line.find('#')));
      if (words.empty() || std::find(words.begin() + 1, words.end(), name) == words.end()) {
        continue;
      }
      if (const Result<net::Address> address = net::Address::parse(words[0])) {
        addresses.push_back(*address);
      }
    }
    if (addresses.empty()) {
      return fail(ErrorKind::Unsupported, kResolve, name,
                  "not in /etc/hosts, and a copy has no name server to ask");
    }
    return addresses;
  }

 private:
  sys::Root root_;
};

}  // namespace

std::unique_ptr<Resolver> resolver_for(const sys::Root& root) {
  if (root.is_live()) {
    return std::make_unique<SystemResolver>();
  }
  return std::make_unique<HostsFileResolver>(root);
}

namespace {

std::optional<Libraries> opened_libraries(const sys::Root& root) {
  return root.is_live() ? std::optional(read_libraries(root)) : std::nullopt;
}

Result<GpuStates> unanswered_gpus() {
  return fail(ErrorKind::Timeout, "NVML", "the GPU's driver", "did not answer in time",
              "nvidia-smi -pm 1 keeps the GPUs awake");
}

// Begun before everything else and waited for after it.
struct Slow {
  explicit Slow(const sys::Root& root)
      : deadline(std::chrono::steady_clock::now() + kMaxFactTime),
        own_name([root] { return read_own_name(root); }),
        gpu_states([root] { return read_gpu_states(root); }),
        libraries([root] { return opened_libraries(root); }) {}

  std::chrono::steady_clock::time_point deadline;
  sys::Late<OwnName> own_name;
  sys::Late<Result<GpuStates>> gpu_states;
  sys::Late<std::optional<Libraries>> libraries;
};

}  // namespace

Inventory read_inventory(const sys::Root& root) {
  Slow slow(root);
  Inventory inventory{
      .kernel = read_kernel(root),
      .network = read_network(root),
      .process = read_process(root),
      .cpu = read_cpu(root),
      .memory = read_memory(root),
      .sysctls = read_sysctls(root),
      .addresses = read_addresses(root),
      .own_name = {},
      .time = read_timekeeping(root),
      .mounts = read_mounts(root),
      .rdma = read_rdma(root),
      .gpus = {},
      .peer_memory = has_peer_memory(root),
      .libraries = {},
  };
  inventory.own_name = slow.own_name.by(slow.deadline).value_or(unanswered_own_name(root));
  inventory.gpus = read_gpus(root, slow.gpu_states.by(slow.deadline).value_or(unanswered_gpus()));
  inventory.libraries = slow.libraries.by(slow.deadline).value_or(std::nullopt);
  return inventory;
}

Facts facts_of(const Inventory& inventory) {
  Facts facts;
  append_facts(inventory.kernel, facts);
  append_facts(inventory.network, facts);
  append_facts(inventory.process, facts);
  append_facts(inventory.cpu, facts);
  append_facts(inventory.memory, facts);
  append_facts(inventory.sysctls, facts);
  append_facts(inventory.addresses, facts);
  append_facts(inventory.own_name, facts);
  append_facts(inventory.time, facts);
  append_facts(inventory.mounts, facts);
  append_facts(inventory.rdma, facts);
  append_facts(inventory.gpus, facts);
  if (inventory.libraries) {
    append_facts(*inventory.libraries, facts);
  }
  return facts;
}

}  // namespace chokepoint::host
