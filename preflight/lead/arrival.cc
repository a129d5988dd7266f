
#include <algorithm>
#include <charconv>
#include <optional>

#include "base/net/address.h"
#include "preflight/lead/phases.h"
#include "preflight/lead/readings.h"
#include "preflight/lead/step.h"

namespace chokepoint::preflight::lead {
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
  int bits = -1;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + slash + 1, end, bits);
  const int most = base->family() == net::Family::Ipv4 ? 32 : 128;
  if (error != std::errc() || stop != end || bits < 0 || bits > most) {
    return std::nullopt;
  }
  return Network{.base = *base, .bits = bits};
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

// The one that holds the address by which the host is tested.
const InterfaceFacts* tested_interface(const HostResult& host) {
  if (!host.facts) {
    return nullptr;
  }
  const auto at = std::ranges::find_if(host.facts->interfaces, [&](const InterfaceFacts& each) {
    return std::ranges::find(each.addresses, host.address) != each.addresses.end();
  });
  return at == host.facts->interfaces.end() ? nullptr : &*at;
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
  explicit Arrival(LeadProgress& course)
      : course_(course),
        heard_(course.measured.hosts.size(), false),
        missing_(course.measured.hosts.size()) {}

  void await(std::int64_t until_ns) {
    while (missing_ > 0 && !course_.is_over() && course_.clock.monotonic_ns() < until_ns) {
      if (const std::optional<Event> event = course_.next(until_ns)) {
        std::visit([this](const auto& each) { on(each); }, *event);
      }
    }
  }

  void judge_missing() {
    for (HostIndex host = 0; host < heard_.size(); ++host) {
      if (!heard_[host]) {
        course_.lose(host, Presence::Unreachable, not_come(course_.name_of(host)), "");
      }
    }
  }

 private:
  void on(const Came& came) {
    if (came.host >= heard_.size() || heard_[came.host]) {
      return;
    }
    heard(came.host);
    HostResult& host = course_.measured.hosts[came.host];
    host.presence = Presence::Present;
    host.address = came.address;
    host.program = came.program;
    host.facts = came.facts;
  }

  // Who has come may be gone again before the last one is there.
  void on(const Went& went) {
    if (went.host >= heard_.size()) {
      return;
    }
    const bool was_there = course_.is_present(went.host);
    if (was_there || !heard_[went.host]) {
      heard(went.host);
      const Presence presence = was_there ? Presence::Lost : went.presence;
      course_.lose(went.host, presence, went.error, course_.doing());
    }
  }

  void on(const Answered& /*answered*/) {}

  void heard(HostIndex host) {
    if (!heard_[host]) {
      heard_[host] = true;
      --missing_;
      course_.tell(1 - static_cast<double>(missing_) / static_cast<double>(heard_.size()));
    }
  }

  LeadProgress& course_;
  std::vector<bool> heard_;
  std::size_t missing_;
};

bool is_address(const std::string& name) { return net::Address::parse(name).has_value(); }

// A plain address tells nothing about names.
std::vector<HostIndex> named_hosts(const LeadProgress& course) {
  std::vector<HostIndex> list;
  for (HostIndex host = 0; host < course.wanted.hosts.size(); ++host) {
    if (!is_address(course.name_of(host))) {
      list.push_back(host);
    }
  }
  return list;
}

// All of them, or as many as fit into a task: itself, and those that follow.
std::vector<HostIndex> asked_by(const std::vector<HostIndex>& named, HostIndex host) {
  if (named.size() <= kMostHostsInTask) {
    return named;
  }
  const auto from = std::ranges::lower_bound(named, host) - named.begin();
  std::vector<HostIndex> list;
  for (std::size_t i = 0; i < kMostHostsInTask; ++i) {
    list.push_back(named[(static_cast<std::size_t>(from) + i) % named.size()]);
  }
  return list;
}

Job doctor_job(LeadProgress& course, HostIndex host) {
  return {.host = host,
          .task = {.kind = TaskKind::Doctor},
          .keep = [&course, host](const control::Json& document) {
            return read_doctor(document, course.measured.hosts[host]);
          }};
}

Job names_job(LeadProgress& course, HostIndex host, std::vector<HostIndex> asked) {
  Task task{.kind = TaskKind::Names};
  for (const HostIndex each : asked) {
    task.hosts.push_back(course.name_of(each));
  }
  return {.host = host,
          .task = std::move(task),
          .keep = [&course, host, asked = std::move(asked)](const control::Json& document) {
            return read_names(document, asked, course.measured.hosts[host]);
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

void await_all(LeadProgress& course) {
  course.begin("calling the hosts", plan::greeting_time(course.wanted.effort) / 2);
  Arrival arrival(course);
  const std::int64_t until = course.clock.monotonic_ns() + course.wanted.arrival.count() * kNsPerMs;
  arrival.await(std::min(until, course.deadline_ns()));
  if (!course.is_over()) {
    arrival.judge_missing();
  }
  std::vector<std::string> addresses = test_addresses(course.measured.hosts);
  for (HostIndex host = 0; host < addresses.size(); ++host) {
    course.measured.hosts[host].address = std::move(addresses[host]);
  }
  course.end();
}

void greet(LeadProgress& course) {
  const std::vector<HostIndex> named = named_hosts(course);
  std::vector<Job> jobs;
  for (const HostIndex host : course.present()) {
    jobs.push_back(doctor_job(course, host));
    if (!named.empty()) {
      jobs.push_back(names_job(course, host, asked_by(named, host)));
    }
  }
  run_step(course, "doctor and names on all hosts", plan::greeting_time(course.wanted.effort) / 2,
           std::move(jobs));
}

}  // namespace chokepoint::preflight::lead
