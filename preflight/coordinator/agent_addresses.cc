#include "preflight/coordinator/agent_addresses.h"

#include <algorithm>
#include <optional>

#include "base/net/address.h"
#include "base/sys/number.h"
#include "preflight/coordinator/phases.h"
#include "preflight/coordinator/readings.h"
#include "preflight/coordinator/step.h"

namespace chokepoint::preflight::coordinator {
namespace {

using net::Address;

std::optional<Address> parsed(const std::string& text) {
  const Result<Address> address = Address::parse(text);
  return address ? std::optional(address->unmapped()) : std::nullopt;
}

bool is_loopback(const std::string& text) {
  const std::optional<Address> address = parsed(text);
  return address && address->is_loopback();
}

struct Network {
  Address base;
  int bits = 0;
};

std::optional<Network> network_in(const std::string& text) {
  const std::size_t slash = text.find('/');
  const std::optional<Address> base = parsed(text.substr(0, slash));
  if (!base || slash == std::string::npos) {
    return std::nullopt;
  }
  const int most = base->family() == net::Family::Ipv4 ? 32 : 128;
  const auto bits = sys::parse_non_negative<int>(std::string_view(text).substr(slash + 1));
  return bits && *bits <= most ? std::optional(Network{.base = *base, .bits = *bits})
                               : std::nullopt;
}

bool holds(const Network& network, const Address& address) {
  if (network.base.family() != address.family()) {
    return false;
  }
  constexpr int kByte = 8;
  for (int bit = 0; bit < network.bits; bit += kByte) {
    const auto place = static_cast<std::size_t>(bit / kByte);
    const int compared = std::min(kByte, network.bits - bit);
    const int differ = network.base.bytes().at(place) ^ address.bytes().at(place);
    if (differ >> (kByte - compared) != 0) {
      return false;
    }
  }
  return true;
}

bool has_address(const HostFacts& facts, const Address& address) {
  return std::ranges::any_of(facts.interfaces, [&](const InterfaceFacts& interface) {
    return std::ranges::any_of(interface.addresses,
                               [&](const std::string& text) { return parsed(text) == address; });
  });
}

// Others reach it there as well as the coordinator did.
bool is_for_others(const HostResult& host) {
  const std::optional<Address> address = parsed(host.address);
  return address && !address->is_loopback() && host.facts && has_address(*host.facts, *address);
}

std::size_t held(const Network& network, const std::vector<Address>& addresses) {
  return static_cast<std::size_t>(
      std::ranges::count_if(addresses, [&](const Address& each) { return holds(network, each); }));
}

struct Candidate {
  std::string address = {};
  std::size_t others = 0;
};

// Of the host's own addresses the one whose network holds most of the others'.
Candidate best_of(const HostFacts& facts, const std::vector<Address>& others) {
  Candidate best;
  for (const InterfaceFacts& interface : facts.interfaces) {
    const std::size_t count = std::min(interface.addresses.size(), interface.networks.size());
    for (std::size_t i = 0; i < count; ++i) {
      const std::optional<Network> network = network_in(interface.networks[i]);
      if (!network || is_loopback(interface.addresses[i])) {
        continue;
      }
      const std::size_t others_there = held(*network, others);
      if (others_there > best.others) {
        best = {.address = interface.addresses[i], .others = others_there};
      }
    }
  }
  return best;
}

// Where hosts were reached that others reach there, too.
std::vector<Address> shared_addresses(const std::vector<HostResult>& hosts) {
  std::vector<Address> list;
  for (const HostResult& host : hosts) {
    if (is_for_others(host)) {
      list.push_back(*parsed(host.address));
    }
  }
  return list;
}

using std::chrono::milliseconds;

Error not_come(const std::string& name) {
  return {
      .kind = ErrorKind::Timeout,
      .operation = "preflight",
      .subject = name,
      .reason = "its agent has not come in time",
      .next_step = "is 'chokepoint serve' running there, and does a firewall let it be reached?"};
}

class Arrival {
 public:
  explicit Arrival(RunningPreflight& progress)
      : progress_(progress),
        arrived_(progress.measured.hosts.size(), false),
        missing_(progress.measured.hosts.size()) {}

  void await(std::int64_t until_ns) {
    while (missing_ > 0 && !progress_.is_over() && progress_.clock.monotonic_ns() < until_ns) {
      if (const std::optional<Event> event = progress_.next(until_ns)) {
        std::visit([this](const auto& each) { on(each); }, *event);
      }
    }
  }

  void judge_missing() {
    for (HostIndex host = 0; host < arrived_.size(); ++host) {
      if (!arrived_[host]) {
        progress_.lose(host, Presence::Unreachable, not_come(progress_.name_of(host)), "");
      }
    }
  }

 private:
  void on(const AgentJoined& came) {
    if (came.host >= arrived_.size() || arrived_[came.host]) {
      return;
    }
    arrived(came.host);
    HostResult& host = progress_.measured.hosts[came.host];
    host.presence = Presence::Present;
    host.address = came.address;
    host.program = came.program;
    host.facts = came.facts;
    host.settings = came.settings;
  }

  // Who has come may be gone again before the last one is there.
  void on(const AgentLeft& went) {
    if (went.host >= arrived_.size()) {
      return;
    }
    const bool was_there = progress_.is_present(went.host);
    if (was_there || !arrived_[went.host]) {
      arrived(went.host);
      const Presence presence = was_there ? Presence::Lost : went.presence;
      progress_.lose(went.host, presence, went.error, progress_.doing());
    }
  }

  void on(const Answered& /*answered*/) {}

  void arrived(HostIndex host) {
    if (!arrived_[host]) {
      arrived_[host] = true;
      --missing_;
      progress_.report_progress(1 - static_cast<double>(missing_) /
                                        static_cast<double>(arrived_.size()));
    }
  }

  RunningPreflight& progress_;
  std::vector<bool> arrived_;
  std::size_t missing_;
};

// Hosts that were given by name: a lookup of a plain address shows nothing.
std::vector<HostIndex> named_hosts(const RunningPreflight& progress) {
  std::vector<HostIndex> list;
  for (HostIndex host = 0; host < progress.wanted.hosts.size(); ++host) {
    if (!net::Address::parse(progress.name_of(host))) {
      list.push_back(host);
    }
  }
  return list;
}

// All of them, or as many as fit into a task: itself, and those that follow.
std::vector<HostIndex> asked_by(const std::vector<HostIndex>& named, HostIndex host) {
  if (named.size() <= kMaxHostsInTask) {
    return named;
  }
  const auto from = std::ranges::lower_bound(named, host) - named.begin();
  std::vector<HostIndex> list;
  for (std::size_t i = 0; i < kMaxHostsInTask; ++i) {
    list.push_back(named[(static_cast<std::size_t>(from) + i) % named.size()]);
  }
  return list;
}

Job doctor_job(RunningPreflight& progress, HostIndex host) {
  return {.host = host,
          .task = {.kind = TaskKind::Doctor},
          .keep = [&progress, host](const control::Json& document) {
            return read_doctor(document, progress.measured.hosts[host]);
          }};
}

Job names_job(RunningPreflight& progress, HostIndex host, std::vector<HostIndex> asked) {
  Task task{.kind = TaskKind::Names};
  for (const HostIndex each : asked) {
    task.hosts.push_back(progress.name_of(each));
  }
  return {.host = host,
          .task = std::move(task),
          .keep = [&progress, host, asked = std::move(asked)](const control::Json& document) {
            return read_names(document, asked, progress.measured.hosts[host]);
          }};
}

}  // namespace

std::optional<std::string> other_family_address(const HostResult& from, const HostResult& to) {
  const InterfaceFacts* near = tested_interface(from);
  const InterfaceFacts* far = tested_interface(to);
  const std::optional<Address> tested = parsed(to.address);
  if (near == nullptr || far == nullptr || !tested) {
    return std::nullopt;
  }
  const std::size_t count = std::min(far->addresses.size(), far->networks.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<Address> address = parsed(far->addresses[i]);
    if (address && address->family() != tested->family() && !address->is_loopback() &&
        !address->is_link_local() &&
        std::ranges::find(near->networks, far->networks[i]) != near->networks.end()) {
      return far->addresses[i];
    }
  }
  return std::nullopt;
}

std::vector<std::string> test_addresses(const std::vector<HostResult>& hosts) {
  const std::vector<Address> shared = shared_addresses(hosts);
  std::vector<std::string> list;
  for (const HostResult& host : hosts) {
    list.push_back(host.address);
    if (host.facts && !is_for_others(host)) {
      const Candidate best = best_of(*host.facts, shared);
      list.back() = best.address.empty() ? host.address : best.address;
    }
  }
  return list;
}

void await_all(RunningPreflight& progress) {
  progress.begin("calling the hosts", greeting_time(progress.wanted.effort) / 2);
  Arrival arrival(progress);
  const std::int64_t until =
      progress.clock.monotonic_ns() + progress.wanted.arrival.count() * kNsPerMs;
  arrival.await(std::min(until, progress.deadline_ns()));
  if (!progress.is_over()) {
    arrival.judge_missing();
  }
  std::vector<std::string> addresses = test_addresses(progress.measured.hosts);
  for (HostIndex host = 0; host < addresses.size(); ++host) {
    progress.measured.hosts[host].address = std::move(addresses[host]);
  }
  progress.end();
}

void greet(RunningPreflight& progress) {
  const std::vector<HostIndex> named = named_hosts(progress);
  std::vector<Job> jobs;
  for (const HostIndex host : progress.present()) {
    jobs.push_back(doctor_job(progress, host));
    if (!named.empty()) {
      jobs.push_back(names_job(progress, host, asked_by(named, host)));
    }
  }
  run_step(progress, "doctor and names on all hosts", greeting_time(progress.wanted.effort) / 2,
           std::move(jobs));
}

}  // namespace chokepoint::preflight::coordinator
