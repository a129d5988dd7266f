#include "preflight/judge/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/net/address.h"
#include "preflight/judge/blame.h"
#include "preflight/judge/name_answers.h"
#include "preflight/judge/shell.h"
#include "preflight/judge/words.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;

// A kind of wrong answer, and how it is told.
struct Kind {
  const char* id = "";
  Status status = Status::Warning;
  std::string_view why = {};
};

constexpr Kind kLoopback = {"name.loopback", Status::Critical,
                            "who asks there is led to itself instead of the host"};
constexpr Kind kUnresolved = {"name.unresolved", Status::Warning,
                              "jobs that are given names cannot start there"};
constexpr Kind kElsewhere = {"name.elsewhere", Status::Critical,
                             "no interface of the host has such an address: the job talks to "
                             "another host, or to none"};
constexpr Kind kDiffers = {"name.differs", Status::Warning,
                           "ranks that look a host up in different places meet on different "
                           "networks, or not at all"};

std::string list_of(const std::vector<std::string>& addresses) {
  return addresses.empty() ? "nothing" : fmt::format("{}", fmt::join(addresses, ", "));
}

std::string found_words(const LookedUp& look) {
  return look.answer->error ? look.answer->error->reason : list_of(look.answer->addresses);
}

// Who asks, who is asked for, or both: as the wrong answers tell.
std::string subject_of_names(const ClusterInput& scene, const Blame& blame) {
  switch (blame.place) {
    case Place::Port:
      return blame.receives ? "name " + scene.name(blame.hosts[0])
                            : scene.name(blame.hosts[0]) + "'s resolver";
    case Place::Way:
      return fmt::format("name {} on {}", scene.name(blame.hosts[1]), scene.name(blame.hosts[0]));
    case Place::Pair:
      return fmt::format("names of {} and {} on each other", scene.name(blame.hosts[0]),
                         scene.name(blame.hosts[1]));
    default:
      break;
  }
  return "names";
}

class Names {
 public:
  explicit Names(JudgeContext& desk)
      : desk_(desk), scene_(desk.scene), looks_(looked_up(desk.scene)) {}

  void run();

 private:
  void judge_all(const Kind& kind, Wrong wrong, std::string_view why_own);
  void judge_own(const Kind& kind, Wrong wrong, std::string_view why);
  void judge_kind(const Kind& kind, Wrong wrong);
  void report(const Kind& kind, const Blame& blame);
  void report_passed();

  JudgeContext& desk_;
  const ClusterInput& scene_;
  std::vector<LookedUp> looks_;
  std::vector<bool> told_ = {};  // by host: this kind's finding is of its name or its resolver
};

void Names::report(const Kind& kind, const Blame& blame) {
  const LookedUp& look = looks_[blame.ways[0]];
  // Wrong for one who asks, and right for the others: it is the one who asks.
  const bool by_one = blame.place == Place::Way || (blame.place == Place::Port && !blame.receives);
  const std::string& asked = scene_.name(look.asked);
  Finding finding;
  finding.place = Place::Name;
  finding.hosts = by_one ? std::vector{look.asker} : blame.hosts;
  finding.check = {
      .id = by_one && look.wrong == Wrong::Elsewhere ? kDiffers.id : kind.id,
      .status = kind.status,
      .subject = subject_of_names(scene_, blame),
      .found =
          fmt::format("{}: {}, asked on {}", asked, found_words(look), scene_.name(look.asker)),
      .wanted = scene_.host(look.asked).address,
      .why = std::string(kind.why),
      .next_step =
          with_note(on_host(scene_.name(look.asker), "getent ahosts " + shell_word(asked)),
                    fmt::format("mend /etc/hosts there, or the name server: {} is {}",
                                shell_word(asked), shell_word(scene_.host(look.asked).address)))};
  if (blame.ways.size() > 1) {
    finding.check.found +=
        fmt::format(", and {} more", counted(blame.ways.size() - 1, "answer", "answers"));
  }
  desk_.findings.push_back(std::move(finding));
}

void Names::judge_kind(const Kind& kind, Wrong wrong) {
  std::vector<Tested> tested;
  for (WayIndex index = 0; index < looks_.size(); ++index) {
    const LookedUp& look = looks_[index];
    if (look.asker != look.asked) {
      tested.push_back({index, look.asker, look.asked, 1, look.wrong == wrong ? 1.0 : 0.0});
    }
  }
  for (const Blame& one : blame(scene_.hosts(), tested)) {
    report(kind, one);
    if (one.place == Place::Port) {
      told_[one.hosts[0]] = true;
    }
  }
}

// What a host is told its own name leads to: Debian writes 127.0.1.1. What is wrong everywhere, or
// of all that the host asks for, is told already.
void Names::judge_own(const Kind& kind, Wrong wrong, std::string_view why) {
  std::vector<HostIndex> hosts;
  const LookedUp* first = nullptr;
  for (const LookedUp& look : looks_) {
    if (look.asker == look.asked && look.wrong == wrong && !told_[look.asker]) {
      first = first == nullptr ? &look : first;
      hosts.push_back(look.asker);
    }
  }
  if (first == nullptr) {
    return;
  }
  const HostIndex host = first->asker;
  std::string note =
      fmt::format("in its /etc/hosts give {} the address {}", shell_word(scene_.name(host)),
                  shell_word(scene_.host(host).address));
  if (const std::string interface = scene_.interface_name(host); !interface.empty()) {
    note += "; until then export GLOO_SOCKET_IFNAME=" + shell_word(interface);
  }
  Finding finding;
  finding.place = Place::Name;
  finding.hosts = hosts;
  finding.check = {
      .id = kind.id,
      .status = kind.status,
      .subject = names_of(scene_, hosts),
      .found = fmt::format("{}: {}, asked on itself", scene_.name(host), found_words(*first)),
      .wanted = scene_.host(host).address,
      .why = std::string(why),
      .next_step = with_note(
          on_host(scene_.name(host), "getent ahosts " + shell_word(scene_.name(host))), note)};
  desk_.findings.push_back(std::move(finding));
}

void Names::judge_all(const Kind& kind, Wrong wrong, std::string_view why_own) {
  told_.assign(scene_.hosts(), false);
  judge_kind(kind, wrong);
  judge_own(kind, wrong, why_own);
}

void Names::report_passed() {
  Finding finding;
  finding.check = {.id = "name.resolution", .status = Status::Pass, .subject = "cluster"};
  finding.check.found =
      fmt::format("{} lead to the hosts they name", counted(looks_.size(), "answer", "answers"));
  desk_.findings.push_back(std::move(finding));
}

void Names::run() {
  const std::size_t before = desk_.findings.size();
  judge_all(
      kLoopback, Wrong::Loopback,
      "Gloo binds what the own name leads to and tells it to its peers: no other host reaches "
      "it");
  judge_all(kElsewhere, Wrong::Elsewhere,
            "Gloo binds what the own name leads to, and no interface of the host has that");
  judge_kind(kDiffers, Wrong::Differs);
  judge_all(kUnresolved, Wrong::Unresolved,
            "Gloo looks up the own name when it starts, and fails without it");
  if (desk_.findings.size() == before && !looks_.empty()) {
    report_passed();
  }
}

}  // namespace

bool was_asked_for_itself(const HostResult& host, HostIndex index) {
  const bool same_name = !host.facts || host.facts->host == host.name;
  return same_name && std::ranges::any_of(host.names, [&](const NameAnswer& answer) {
           return answer.asked == index;
         });
}

void judge_names(JudgeContext& desk) { Names(desk).run(); }

}  // namespace chokepoint::preflight
