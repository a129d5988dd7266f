#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "preflight/judge/cluster_input.h"
#include "preflight/judge/fault_location.h"
#include "preflight/judge/figure_text.h"
#include "preflight/judge/findings.h"

namespace chokepoint::preflight {
namespace {

enum class Wrong : std::uint8_t {
  No,
  Unresolved,  // no answer
  Loopback,    // an address of the asker itself
  Elsewhere,   // no address of that host's interfaces
  Differs,     // another answer than most hosts get
};

// One host's answer for another's name.
struct LookedUp {
  HostIndex asker = 0;
  HostIndex asked = 0;
  const NameAnswer* answer = nullptr;
  Wrong wrong = Wrong::No;
};

bool is_loopback(const std::string& text) {
  const auto address = net::Address::parse(text);
  return address && address->is_loopback();
}

bool shares_one(const std::vector<std::string>& some, const std::vector<std::string>& others) {
  return std::ranges::any_of(
      some, [&](const std::string& one) { return std::ranges::find(others, one) != others.end(); });
}

// All addresses of its interfaces and where its agent was; empty where its facts are not known.
std::vector<std::string> own_addresses(const HostResult& host) {
  std::vector<std::string> own;
  if (!host.facts) {
    return own;
  }
  for (const InterfaceFacts& interface : host.facts->interfaces) {
    own.insert(own.end(), interface.addresses.begin(), interface.addresses.end());
  }
  own.push_back(host.address);
  return own;
}

std::vector<std::string> most_frequent_addresses(std::span<const LookedUp> looks) {
  std::map<std::vector<std::string>, std::size_t> counts;
  for (const LookedUp& look : looks) {
    if (look.asker != look.asked && !look.answer->error) {
      std::vector<std::string> sorted = look.answer->addresses;
      std::ranges::sort(sorted);
      ++counts[std::move(sorted)];
    }
  }
  if (counts.empty()) {
    return {};
  }
  return std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; })->first;
}

Wrong judged(const LookedUp& look, const std::vector<std::string>& own,
             const std::vector<std::string>& most) {
  const std::vector<std::string>& addresses = look.answer->addresses;
  if (look.answer->error || addresses.empty()) {
    return Wrong::Unresolved;
  }
  if (is_loopback(addresses.front())) {
    return Wrong::Loopback;
  }
  if (!own.empty() && !shares_one(addresses, own)) {
    return Wrong::Elsewhere;
  }
  return look.asker != look.asked && !most.empty() && !shares_one(addresses, most) ? Wrong::Differs
                                                                                   : Wrong::No;
}

// By whom was asked for, then by who asked. Hosts that were given as addresses need no names.
std::vector<LookedUp> looked_up(const ClusterInput& input) {
  std::vector<bool> is_name(input.hosts());
  for (HostIndex host = 0; host < input.hosts(); ++host) {
    is_name[host] = !net::Address::parse(input.name(host)) && input.name(host) != "localhost";
  }
  std::vector<LookedUp> looks;
  for (HostIndex asker = 0; asker < input.hosts(); ++asker) {
    for (const NameAnswer& answer : input.host(asker).names) {
      if (answer.asked < input.hosts() && is_name[answer.asked]) {
        looks.push_back({asker, answer.asked, &answer});
      }
    }
  }
  std::ranges::stable_sort(looks, {}, &LookedUp::asked);
  for (std::size_t first = 0; first < looks.size();) {
    std::size_t last = first;
    while (last < looks.size() && looks[last].asked == looks[first].asked) {
      ++last;
    }
    const std::span same(looks.data() + first, last - first);
    const std::vector<std::string> own = own_addresses(input.host(same[0].asked));
    const std::vector<std::string> most = most_frequent_addresses(same);
    for (LookedUp& look : same) {
      look.wrong = judged(look, own, most);
    }
    first = last;
  }
  return looks;
}

using checks::Status;

// A kind of wrong answer, and the text of its finding.
struct Kind {
  const char* id = "";
  Status status = Status::Warning;
  std::string_view why = {};
};

constexpr Kind kLoopback = {
    "name.loopback", Status::Critical,
    "a host that resolves the name there reaches itself instead of the host"};
constexpr Kind kUnresolved = {"name.unresolved", Status::Warning,
                              "jobs that are given names cannot start there"};
constexpr Kind kElsewhere = {
    "name.elsewhere", Status::Critical,
    "no interface of the host has such an address: the job connects to another host, or to none"};
constexpr Kind kDiffers = {"name.differs", Status::Warning,
                           "ranks that look a host up in different places meet on different "
                           "networks, or not at all"};

std::string list_of(const std::vector<std::string>& addresses) {
  return addresses.empty() ? "nothing" : fmt::format("{}", fmt::join(addresses, ", "));
}

std::string found_words(const LookedUp& look) {
  return look.answer->error ? look.answer->error->reason : list_of(look.answer->addresses);
}

// The hosts that resolve wrongly, the hosts whose names are resolved wrongly, or both.
std::string subject_of_names(const ClusterInput& input, const FaultLocation& location) {
  switch (location.place) {
    case Place::Port:
      return location.receives ? "name " + input.name(location.hosts[0])
                               : input.name(location.hosts[0]) + "'s resolver";
    case Place::DirectedPath:
      return fmt::format("name {} on {}", input.name(location.hosts[1]),
                         input.name(location.hosts[0]));
    case Place::Pair:
      return fmt::format("names of {} and {} on each other", input.name(location.hosts[0]),
                         input.name(location.hosts[1]));
    default:
      break;
  }
  return "names";
}

class Names {
 public:
  explicit Names(JudgeContext& context)
      : context_(context), input_(context.input), looks_(looked_up(context.input)) {}

  void run();

 private:
  void judge_all(const Kind& kind, Wrong wrong, std::string_view why_own);
  void judge_own(const Kind& kind, Wrong wrong, std::string_view why);
  void judge_kind(const Kind& kind, Wrong wrong);
  void report(const Kind& kind, const FaultLocation& location);

  JudgeContext& context_;
  const ClusterInput& input_;
  std::vector<LookedUp> looks_;
  std::vector<bool> reported_ = {};  // by host: this kind's finding is of its name or its resolver
};

void Names::report(const Kind& kind, const FaultLocation& location) {
  const LookedUp& look = looks_[location.paths[0]];
  // Wrong for one who asks, and right for the others: it is the one who asks.
  const bool by_one = location.place == Place::DirectedPath ||
                      (location.place == Place::Port && !location.receives);
  const std::string& asked = input_.name(look.asked);
  Finding finding{.place = Place::Name};
  finding.hosts = by_one ? std::vector{look.asker} : location.hosts;
  finding.check = {
      .id = by_one && look.wrong == Wrong::Elsewhere ? kDiffers.id : kind.id,
      .status = kind.status,
      .subject = subject_of_names(input_, location),
      .found =
          fmt::format("{}: {}, asked on {}", asked, found_words(look), input_.name(look.asker)),
      .wanted = input_.host(look.asked).address,
      .why = std::string(kind.why),
      .next_step =
          with_note(on_host(input_.name(look.asker), "getent ahosts " + shell_word(asked)),
                    fmt::format("fix /etc/hosts there, or the name server: {} is {}",
                                shell_word(asked), shell_word(input_.host(look.asked).address)))};
  if (location.paths.size() > 1) {
    finding.check.found +=
        fmt::format(", and {} more", counted(location.paths.size() - 1, "answer", "answers"));
  }
  context_.add(std::move(finding));
}

void Names::judge_kind(const Kind& kind, Wrong wrong) {
  std::vector<Tested> tested;
  for (PathIndex index = 0; index < looks_.size(); ++index) {
    const LookedUp& look = looks_[index];
    if (look.asker != look.asked) {
      tested.push_back({index, look.asker, look.asked, 1, look.wrong == wrong ? 1.0 : 0.0});
    }
  }
  for (const FaultLocation& one : locate_faults(input_.hosts(), tested)) {
    report(kind, one);
    if (one.place == Place::Port) {
      reported_[one.hosts[0]] = true;
    }
  }
}

// What a host's own name resolves to on it: Debian writes 127.0.1.1. What is wrong everywhere, or
// for all names that the host resolves, is reported already.
void Names::judge_own(const Kind& kind, Wrong wrong, std::string_view why) {
  std::vector<HostIndex> hosts;
  const LookedUp* first = nullptr;
  for (const LookedUp& look : looks_) {
    if (look.asker == look.asked && look.wrong == wrong && !reported_[look.asker]) {
      first = first == nullptr ? &look : first;
      hosts.push_back(look.asker);
    }
  }
  if (first == nullptr) {
    return;
  }
  const HostIndex host = first->asker;
  std::string note =
      fmt::format("in its /etc/hosts give {} the address {}", shell_word(input_.name(host)),
                  shell_word(input_.host(host).address));
  if (const std::string interface = input_.interface_name(host); !interface.empty()) {
    note += "; until then export GLOO_SOCKET_IFNAME=" + shell_word(interface);
  }
  Finding finding{.place = Place::Name, .hosts = hosts};
  finding.check = {
      .id = kind.id,
      .status = kind.status,
      .subject = names_of(input_, hosts),
      .found = fmt::format("{}: {}, asked on itself", input_.name(host), found_words(*first)),
      .wanted = input_.host(host).address,
      .why = std::string(why),
      .next_step = with_note(
          on_host(input_.name(host), "getent ahosts " + shell_word(input_.name(host))), note)};
  context_.add(std::move(finding));
}

void Names::judge_all(const Kind& kind, Wrong wrong, std::string_view why_own) {
  reported_.assign(input_.hosts(), false);
  judge_kind(kind, wrong);
  judge_own(kind, wrong, why_own);
}

void Names::run() {
  const std::size_t before = context_.findings.size();
  judge_all(kLoopback, Wrong::Loopback,
            "Gloo binds the address of the host's own name and sends it to its peers: no other "
            "host reaches it");
  judge_all(kElsewhere, Wrong::Elsewhere,
            "Gloo binds the address of the host's own name, and no interface of the host has it");
  judge_kind(kDiffers, Wrong::Differs);
  judge_all(kUnresolved, Wrong::Unresolved,
            "Gloo looks up the own name when it starts, and fails without it");
  if (context_.findings.size() == before && !looks_.empty()) {
    context_.pass("name.resolution", fmt::format("{} lead to the hosts they name",
                                                 counted(looks_.size(), "answer", "answers")));
  }
}

}  // namespace

bool was_asked_for_itself(const HostResult& host, HostIndex index) {
  const bool same_name = !host.facts || host.facts->host == host.name;
  return same_name && std::ranges::any_of(host.names, [&](const NameAnswer& answer) {
           return answer.asked == index;
         });
}

void judge_names(JudgeContext& context) { Names(context).run(); }

}  // namespace chokepoint::preflight
