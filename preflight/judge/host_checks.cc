#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "preflight/judge/figure_text.h"
#include "preflight/judge/findings.h"

namespace chokepoint::preflight {
namespace {

using checks::Check;
using checks::Status;

constexpr std::array<std::string_view, 5> kCounters = {"nic.errors", "nic.drops", "nic.flaps",
                                                       "nic.link", "nic.pauses"};

template <std::size_t N>
bool is_among(std::string_view id, const std::array<std::string_view, N>& ids) {
  return std::ranges::find(ids, id) != ids.end();
}

// Checks of a host's `doctor` that are left out, because the preflight measured the same.
struct Covered {
  bool clock = false;
  bool name = false;
  bool buffers = false;
  bool slot = false;
};

class HostChecks {
 public:
  explicit HostChecks(JudgeContext& context)
      : context_(context), input_(context.input), known_(input_.hosts()) {}

  void run();

 private:
  struct FoundCheck {
    const Check* check = nullptr;
    std::vector<HostIndex> hosts = {};
    bool differs = false;
    bool of_host = false;  // not of one of its interfaces or programs
  };
  using Key = std::tuple<std::string_view, std::string_view, Status>;

  void learn_what_was_measured();
  bool is_measured(HostIndex host, const Check& check) const;
  bool is_taken(const Check& check) const;
  bool belongs_to_a_finding(HostIndex host, const Check& check);
  void take(HostIndex host, const Check& check);
  bool is_custom(const FoundCheck& found) const;
  void report(const FoundCheck& found);
  std::string subject_of(const FoundCheck& found) const;

  JudgeContext& context_;
  const ClusterInput& input_;
  std::vector<Covered> known_;
  std::map<Key, FoundCheck> found_ = {};
  std::size_t examined_ = 0;
};

void HostChecks::learn_what_was_measured() {
  const auto clocks = clocks_of(input_);
  for (HostIndex host = 0; host < input_.hosts(); ++host) {
    known_[host].clock = clocks[host].has_value();
    known_[host].name = was_asked_for_itself(input_.host(host), host);
    known_[host].slot =
        input_.interface(host) != nullptr && input_.interface(host)->pci_mbps.has_value();
  }
  for (const DirectedPath& path : input_.paths()) {
    if (rate_of(*path.result) && path.pair->rtt_ms) {
      known_[path.from].buffers = known_[path.to].buffers = true;
    }
  }
}

bool HostChecks::is_measured(HostIndex host, const Check& check) const {
  constexpr std::array<std::string_view, 2> kNames = {"names.own", "names.families"};
  constexpr std::array<std::string_view, 2> kBuffers = {"tcp.receive-buffer", "tcp.send-buffer"};
  constexpr std::array<std::string_view, 2> kSlots = {"pci.bandwidth", "pci.link"};
  const Covered& known = known_[host];
  return (known.clock && check.id == "time.sync") || (known.name && is_among(check.id, kNames)) ||
         (known.buffers && is_among(check.id, kBuffers)) ||
         (known.slot && is_among(check.id, kSlots) && check.subject == input_.interface_name(host));
}

bool HostChecks::is_taken(const Check& check) const {
  switch (input_.limits().doctor_taken) {
    case DoctorTaken::Nothing:
      return false;
    case DoctorTaken::Critical:
      return check.status >= Status::Critical;
    case DoctorTaken::Warning:
      break;
  }
  return check.status >= Status::Warning;
}

// Whether the check's counters belong to a finding: they show at which end a bad cable is.
bool HostChecks::belongs_to_a_finding(HostIndex host, const Check& check) {
  if (!is_among(check.id, kCounters) || check.subject != input_.interface_name(host)) {
    return false;
  }
  for (Finding& finding : context_.findings) {
    const bool of_link = finding.check.id.starts_with("link.") &&
                         finding.check.status >= Status::Warning &&
                         (finding.place == Place::Port || finding.place == Place::Pair ||
                          finding.place == Place::DirectedPath);
    if (of_link && std::ranges::find(finding.hosts, host) != finding.hosts.end()) {
      finding.check.why +=
          fmt::format("; doctor on {}: {} {}", input_.name(host), check.id, check.found);
      return true;
    }
  }
  return false;
}

void HostChecks::take(HostIndex host, const Check& check) {
  // A host's own name stands for the host.
  const bool own = check.subject == input_.name(host) ||
                   (input_.host(host).facts && check.subject == input_.host(host).facts->host);
  const bool of_host = own || check.subject == "host";
  FoundCheck& found =
      found_[{check.id, of_host ? "host" : std::string_view(check.subject), check.status}];
  found.of_host = of_host;
  found.differs = found.differs || (found.check != nullptr && found.check->found != check.found);
  found.check = found.check == nullptr ? &check : found.check;
  found.hosts.push_back(host);
}

std::string HostChecks::subject_of(const FoundCheck& found) const {
  const std::string hosts = found.hosts.size() == input_.hosts() && found.hosts.size() > 2
                                ? fmt::format("all {} hosts", found.hosts.size())
                                : names_of(input_, found.hosts);
  return found.of_host ? hosts : hosts + ": " + found.check->subject;
}

// Where no names were requested and no host's own name resolves, the cluster uses addresses:
// reported, because Gloo resolves names by itself, but no host's fault.
bool HostChecks::is_custom(const FoundCheck& found) const {
  return found.check->id == "names.own" && found.hosts.size() > 1 &&
         found.hosts.size() == examined_;
}

void HostChecks::report(const FoundCheck& found) {
  Finding finding{.check = *found.check, .place = Place::Host, .hosts = found.hosts};
  finding.check.subject = subject_of(found);
  if (is_custom(found)) {
    finding.check.status = Status::Info;
    finding.place = Place::Cluster;
    finding.hosts.clear();
  }
  const std::string& first = input_.name(found.hosts[0]);
  if (found.differs) {
    finding.check.found += fmt::format(" ({}; others differ)", first);
  }
  if (!finding.check.next_step.empty()) {
    finding.check.next_step = fmt::format("on {}: {}", first, finding.check.next_step);
    if (found.hosts.size() > 1) {
      finding.check.next_step += "  # the same on the others";
    }
  }
  context_.add(std::move(finding));
}

void HostChecks::run() {
  learn_what_was_measured();
  for (HostIndex host = 0; host < input_.hosts(); ++host) {
    examined_ += input_.host(host).doctor.empty() ? 0 : 1;
    for (const Check& check : input_.host(host).doctor) {
      if (is_taken(check) && !is_measured(host, check) && !belongs_to_a_finding(host, check)) {
        take(host, check);
      }
    }
  }
  for (const auto& [key, found] : found_) {
    report(found);
  }
  if (found_.empty() && examined_ > 0) {
    context_.pass("host.doctor", fmt::format("nothing that matters here on {}",
                                             counted(examined_, "host", "hosts")));
  }
}

}  // namespace

void judge_host_checks(JudgeContext& context) { HostChecks(context).run(); }

}  // namespace chokepoint::preflight
