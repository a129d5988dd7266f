#include "analysis/confirm/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>

#include <nlohmann/json.hpp>

#include "analysis/attribution/job_paths.h"
#include "analysis/confirm/tests.h"
#include "analysis/load/connections.h"
#include "base/json/codec.h"
#include "base/math/statistics.h"
#include "base/math/units.h"
#include "base/net/address.h"
#include "base/record/names.h"
#include "base/record/schema.h"

namespace chokepoint::analysis::confirm {
namespace {

// To show that a path carries twice what the job sent, a test need not send more than this.
constexpr double kPaceOfJob = 2.5;
// Tests of loss send at half of the job's rate, at which no link is full; the bounds are
// judgements.
constexpr double kLossPaceOfJob = 0.5;
constexpr double kMinLossMbps = 1;
constexpr double kMaxLossMbps = 200;
// All-reduces are tested where they took this share of the time that the verdict names: a
// judgement.
constexpr double kMinCollectiveShare = 0.5;
constexpr std::size_t kMaxPaths = 4;  // of an unknown verdict
constexpr std::size_t kMaxHosts = 4;  // whose processors are compared
constexpr std::size_t kMaxRanks = 64;
// Beside a running job: long enough for TCP to reach its rate over the paths between data centres.
constexpr double kMaxSecondsBesideJob = 0.5;
constexpr double kMinSecondsBesideJob = 0.1;

struct UsualCollective {
  std::int64_t bytes = 0;
  // With the time that a rank waits there for others, at the rank that waits most: the mean of one,
  // since of many in a step one waits; and all of the run.
  double ms = 0;
  double all_ms = 0;
};

// nullopt where none were seen.
std::optional<UsualCollective> usual_collective(const RunData& run) {
  std::vector<double> sizes;
  const auto is_one = [](const record::Collective& row) {
    return row.kind == record::CollectiveKind::AllReduce && row.merged == 1 &&
           row.bytes.value_or(0) > 0 && row.end_ns > row.start_ns;
  };
  for (const NodeData& node : run.nodes) {
    for (const record::Collective& row : node.collectives) {
      if (is_one(row)) {
        sizes.push_back(static_cast<double>(row.bytes.value_or(0)));
      }
    }
  }
  const auto usual = math::median(sizes);
  if (!usual) {
    return std::nullopt;
  }
  constexpr double kMaxSizeRatioOfUsual = 1.2;
  UsualCollective collective{.bytes = static_cast<std::int64_t>(*usual)};
  for (const NodeData& node : run.nodes) {
    std::vector<double> took_ms;
    for (const record::Collective& row : node.collectives) {
      const auto bytes = static_cast<double>(row.bytes.value_or(0));
      if (is_one(row) && bytes * kMaxSizeRatioOfUsual >= *usual &&
          bytes <= kMaxSizeRatioOfUsual * *usual) {
        took_ms.push_back(static_cast<double>(row.end_ns - row.start_ns) / 1e6);
      }
    }
    const double all_ms = std::accumulate(took_ms.begin(), took_ms.end(), 0.0);
    if (all_ms > collective.all_ms) {
      collective.ms = all_ms / static_cast<double>(took_ms.size());
      collective.all_ms = all_ms;
    }
  }
  return collective.ms > 0 ? std::optional(collective) : std::nullopt;
}

bool is_between(const JobPath& path, const std::string& one, const std::string& other) {
  return (path.from == one && path.to == other) || (path.from == other && path.to == one);
}

bool touches(const JobPath& path, const std::string& node) {
  return !node.empty() && (path.from == node || path.to == node);
}

// Of a record's address with the length of its prefix the network, as text; empty for one that
// leads nowhere from another host.
std::string network_of(const std::string& own) {
  const std::size_t slash = own.find('/');
  const auto address = net::Address::parse(own.substr(0, slash));
  if (slash == std::string::npos || !address || address->is_loopback() ||
      address->is_link_local()) {
    return "";
  }
  int prefix = 0;
  for (const char digit : own.substr(slash + 1)) {
    constexpr int kMaxPrefixBits = 128;
    if (digit < '0' || digit > '9' || prefix > kMaxPrefixBits) {
      return "";
    }
    prefix = 10 * prefix + (digit - '0');
  }
  return fmt::format("{}/{}", address->network(prefix).text(), prefix);
}

// As its `run` recorded; nullopt where it recorded nothing, or nothing that can be read.
std::optional<double> allowed_on(const NodeData& node) {
  const auto found = std::ranges::find(node.events, record::kProbesAllowed, &record::Event::kind);
  if (found == node.events.end()) {
    return std::nullopt;
  }
  const double given =
      json::field_in<double>(json::object_or_null(found->detail), "percent", "event").value_or(0);
  return given > 0 && given <= record::kMaxAllowedPercent ? std::optional(given) : std::nullopt;
}

// The 95th percentile of bins that readings of its counter span.
std::optional<double> usual_peak_mbps(const SeriesData& sent) {
  constexpr std::int64_t kMinBinNs = 50'000'000;
  constexpr double kPeakQuantile = 0.95;
  std::vector<double> rates;
  for (std::size_t from = 0, to = 1; to < sent.readings.size(); ++to) {
    const std::int64_t ns = sent.readings[to].t_ns - sent.readings[from].t_ns;
    if (ns >= kMinBinNs) {
      rates.push_back((sent.readings[to].value - sent.readings[from].value) * 8e3 /
                      static_cast<double>(ns));
      from = to;
    }
  }
  return math::quantile(rates, kPeakQuantile);
}

class Planner {
 public:
  Planner(const RunData& run, const Inquiry& inquiry, const PlanOptions& options)
      : run_(run),
        verdict_(inquiry.diagnosis.verdict),
        steps_(inquiry.diagnosis.steps.count),
        options_(options),
        paths_(job_paths(run, inquiry.clocks)),
        collective_(usual_collective(run)) {
    // Only acknowledgements go in the other direction.
    std::erase_if(paths_, [](const JobPath& path) { return path.bytes <= 0; });
    std::ranges::stable_sort(paths_, std::ranges::greater{}, &JobPath::bytes);
    if (paths_.empty() && is_unknown()) {
      suppose_paths();
    }
    choose_path();
  }

  std::vector<PlannedTest> plan() {
    for (const Check& check : checks_of(verdict_.verdict, verdict_.cause)) {
      add(check);
    }
    if (options_.beside_job && !is_unknown() && !can_be_decided()) {
      plan_.clear();
    }
    add_second_round();
    return std::move(plan_);
  }

 private:
  bool is_unknown() const { return verdict_.verdict == VerdictClass::Unknown; }

  // Between all hosts, where no connection was seen.
  void suppose_paths() {
    std::vector<JobPath> paths;
    for (const NodeData& from : run_.nodes) {
      for (const NodeData& to : run_.nodes) {
        const std::string from_address = address_of(from.name);
        const std::string to_address = address_of(to.name);
        if (&from != &to && !from_address.empty() && !to_address.empty()) {
          paths.push_back({.from = from.name,
                           .to = to.name,
                           .addresses = {std::vector{from_address}, std::vector{to_address}}});
        }
      }
    }
    paths_ = std::move(paths);
  }

  // Of the path, else what its host's interface with the most sent at most, of any program.
  std::optional<double> peak_mbps(const JobPath& path) const {
    const auto peak = path.pace.pace(path.rtt_ms).peak_mbps;
    const NodeData* from = peak ? nullptr : node(path.from);
    if (from == nullptr) {
      return peak;
    }
    std::optional<double> most;
    for (const SeriesData* sent : from->find(record::kNicSentBytes)) {
      const auto mbps = sent->row.subject == "lo" ? std::nullopt : usual_peak_mbps(*sent);
      most = mbps ? std::max(most.value_or(0), *mbps) : most;
    }
    return most;
  }

  // Other programs may run on any of the hosts for a moment.
  void add_second_round() {
    const std::vector<PlannedTest> first = plan_;
    std::ranges::copy_if(first, std::back_inserter(plan_), [](const PlannedTest& test) {
      return test.kind == TestKind::Processor || test.kind == TestKind::OtherProcessor;
    });
  }

  // Beside the job: whether any of its tests could refute the verdict, or all that confirm it are
  // among them.
  bool can_be_decided() const {
    bool is_all_excluded = true;
    bool is_shown = false;
    bool is_refuted = false;
    for (const Check& check : checks_of(verdict_.verdict, verdict_.cause)) {
      const bool is_planned =
          std::ranges::find(plan_, check.test, &PlannedTest::kind) != plan_.end();
      const Support support = is_planned ? describe(check.rule).beside_job : Support::Nothing;
      is_refuted = is_refuted || support == Support::Against;
      is_shown = is_shown || (check.role == TestRole::Shows && support == Support::For);
      is_all_excluded =
          is_all_excluded && (check.role != TestRole::Excludes || support == Support::For);
    }
    return is_refuted || (is_shown && is_all_excluded);
  }

  // That the verdict names; else the one with most data of the node that it names.
  void choose_path() {
    const Where& where = verdict_.where;
    const auto take = [&](auto matches) {
      const auto found = std::ranges::find_if(paths_, matches);
      if (path_ == nullptr && found != paths_.end()) {
        path_ = &*found;
      }
    };
    take([&](const JobPath& path) { return path.from == where.from && path.to == where.to; });
    take([&](const JobPath& path) { return is_between(path, where.from, where.to); });
    take([&](const JobPath& path) { return path.from == where.node; });
    for (const std::string& node : {where.node, where.from, where.to}) {
      take([&](const JobPath& path) { return touches(path, node); });
    }
    if (where.from.empty() && where.to.empty() && where.node.empty()) {
      take([](const JobPath& /*path*/) { return true; });
    }
  }

  std::string suspect() const {
    const Where& where = verdict_.where;
    const std::string& by_path = verdict_.verdict == VerdictClass::ReceiverHost ? where.to
                                 : verdict_.verdict == VerdictClass::SenderHost ? where.from
                                                                                : where.node;
    return !by_path.empty()      ? by_path
           : !where.node.empty() ? where.node
           : run_.nodes.empty()  ? ""
                                 : run_.nodes.front().name;
  }

  // Where its peers reached it in the job; else its first address in a network.
  std::string address_of(const std::string& node) const {
    for (const JobPath& path : paths_) {
      if (path.from == node) {
        return path.addresses[0].front();
      }
      if (path.to == node) {
        return path.addresses[1].front();
      }
    }
    for (const NodeData& each : run_.nodes) {
      for (const Interface& interface : each.interfaces) {
        for (const std::string& address : interface.addresses) {
          if (each.name == node && !network_of(address).empty()) {
            return plain_address(address);
          }
        }
      }
    }
    return "";
  }

  std::string server_of(const std::string& node) const {
    const auto given = options_.servers.find(node);
    return given == options_.servers.end() ? address_of(node) : given->second;
  }

  // How much storage reads and writes has no bound in time.
  bool is_left_out(const Check& check) const {
    return options_.beside_job &&
           (describe(check.rule).beside_job == Support::Nothing || check.test == TestKind::Storage);
  }

  void add(const Check& check) {
    if (is_left_out(check)) {
      return;
    }
    switch (check.test) {
      case TestKind::Throughput:
      case TestKind::Buffers:
      case TestKind::Latency:
      case TestKind::LoadedLatency:
      case TestKind::Loss:
        return add_paths(check);
      case TestKind::Neighbour:
        return add_neighbour(check);
      case TestKind::OtherRoute:
        return add_other_routes(check);
      case TestKind::Collective:
        return add_collective(check);
      case TestKind::Processor:
        return add_host(check, suspect());
      case TestKind::OtherProcessor:
        return add_other_hosts(check);
      case TestKind::Storage:
        return add_storage(check);
    }
  }

  void add_paths(const Check& check) {
    if (!is_unknown()) {
      if (path_ != nullptr) {
        add_path(check, *path_, path_->addresses[1].front());
      }
      return;
    }
    for (std::size_t at = 0; at < std::min(kMaxPaths, paths_.size()); ++at) {
      if (check.test != TestKind::Loss || !is_tested_back(paths_[at])) {
        add_path(check, paths_[at], paths_[at].addresses[1].front());
      }
    }
  }

  // A test of loss sends in both directions.
  bool is_tested_back(const JobPath& path) const {
    return std::ranges::any_of(plan_, [&](const PlannedTest& test) {
      return test.kind == TestKind::Loss && test.on == path.to && test.to == path.from;
    });
  }

  void add_path(const Check& check, const JobPath& path, const std::string& to_address) {
    const auto peak = peak_mbps(path);
    PlannedTest test{.kind = check.test,
                     .rule = check.rule,
                     .on = path.from,
                     .to = path.to,
                     .on_address = server_of(path.from),
                     .to_address = to_address};
    switch (check.test) {
      case TestKind::Loss:
        test.job_value = path.loss_percent();
        test.pace_mbps = std::clamp(kLossPaceOfJob * peak.value_or(0), kMinLossMbps, kMaxLossMbps);
        break;
      case TestKind::Latency:
      case TestKind::LoadedLatency:
        test.job_value = path.rtt_ms;
        break;
      case TestKind::Buffers:
        test.job_value = peak;
        break;
      default:
        test.job_value = check.rule == TestRule::LosesUnderLoad ? path.loss_percent() : peak;
        test.pace_mbps =
            peak.value_or(0) * (check.rule == TestRule::LosesUnderLoad ? 1 : kPaceOfJob);
    }
    const bool is_load_bounded =
        check.test != TestKind::LoadedLatency && check.test != TestKind::Buffers;
    const bool is_paced = check.test == TestKind::Latency || test.pace_mbps > 0;
    if ((options_.most_mbps > 0 && !is_load_bounded) ||
        (options_.beside_job && !(is_load_bounded && is_paced))) {
      return;
    }
    if (options_.most_mbps > 0 && check.test != TestKind::Latency) {
      test.pace_mbps =
          test.pace_mbps > 0 ? std::min(test.pace_mbps, options_.most_mbps) : options_.most_mbps;
    }
    add_test(std::move(test));
  }

  void add_neighbour(const Check& check) {
    const auto is_beside = [&](const JobPath& path) {
      return !is_between(path, path_->from, path_->to) &&
             (path.from == path_->from || path.to == path_->to);
    };
    const auto found = path_ == nullptr ? paths_.end() : std::ranges::find_if(paths_, is_beside);
    if (found != paths_.end()) {
      add_path(check, *found, found->addresses[1].front());
    }
  }

  const NodeData* node(const std::string& name) const {
    const auto found = std::ranges::find(run_.nodes, name, &NodeData::name);
    return found == run_.nodes.end() ? nullptr : &*found;
  }

  // Addresses of the receiver in networks that both have, but for the one that the job used.
  void add_other_routes(const Check& check) {
    const NodeData* from = path_ == nullptr ? nullptr : node(path_->from);
    const NodeData* to = path_ == nullptr ? nullptr : node(path_->to);
    if (from == nullptr || to == nullptr) {
      return;
    }
    std::vector<std::string> networks;
    for (const Interface& interface : from->interfaces) {
      std::ranges::transform(interface.addresses, std::back_inserter(networks), network_of);
    }
    constexpr std::size_t kMaxOtherRoutes = 2;
    std::size_t others = 0;
    for (const Interface& interface : to->interfaces) {
      for (const std::string& address : interface.addresses) {
        const std::string network = network_of(address);
        const std::string plain = plain_address(address);
        if (others < kMaxOtherRoutes && !network.empty() && plain != path_->addresses[1].front() &&
            std::ranges::find(networks, network) != networks.end()) {
          add_path(check, *path_, plain);
          ++others;
        }
      }
    }
  }

  void add_collective(const Check& check) {
    if (!collective_ || run_.nodes.size() < 2 || run_.nodes.size() > kMaxRanks) {
      return;
    }
    // Where the rank waits elsewhere, nothing follows from how long its collectives take.
    const double steps = std::max(1.0, static_cast<double>(steps_));
    const bool is_long =
        check.rule != TestRule::IsQuick || is_unknown() ||
        collective_->all_ms >= kMinCollectiveShare * verdict_.lost_ms_per_step * steps;
    PlannedTest test{.kind = check.test,
                     .rule = check.rule,
                     .on = run_.nodes.front().name,
                     .on_address = server_of(run_.nodes.front().name),
                     .bytes = collective_->bytes,
                     .job_value = is_long ? std::optional(collective_->ms) : std::nullopt};
    for (const NodeData& each : run_.nodes) {
      test.hosts.push_back(address_of(each.name));
    }
    if (std::ranges::find(test.hosts, "") == test.hosts.end()) {
      add_test(std::move(test));
    }
  }

  void add_host(const Check& check, const std::string& node) {
    add_test({.kind = check.test, .rule = check.rule, .on = node, .on_address = server_of(node)});
  }

  void add_other_hosts(const Check& check) {
    std::size_t left = kMaxHosts - 1;
    for (const NodeData& each : run_.nodes) {
      if (each.name != suspect() && left > 0) {
        add_host(check, each.name);
        --left;
      }
    }
  }

  void add_storage(const Check& check) {
    const Where& where = verdict_.where;
    if (where.node.empty() || where.mount.empty()) {
      return;
    }
    add_test({.kind = check.test,
              .rule = check.rule,
              .on = where.node,
              .on_address = server_of(where.node),
              .folder = where.mount,
              .job_value = storage_rate()});
  }

  // In MB/s, while the step waited for it; over the whole of it the storage had nothing to do for a
  // part of the time. Where loaders read meanwhile, the disk's own counter knows better.
  std::optional<double> storage_rate() const {
    const auto rate = std::ranges::find(verdict_.evidence, "MB/s", &Evidence::unit);
    if (rate == verdict_.evidence.end() || !rate->value) {
      return std::nullopt;
    }
    if (verdict_.verdict == VerdictClass::Storage) {
      return rate->value;  // of the writes alone already
    }
    const auto busy = std::ranges::find_if(
        verdict_.evidence, [](const Evidence& each) { return each.what.ends_with(kAtWork); });
    const double busy_percent = busy == verdict_.evidence.end() ? 0 : busy->value.value_or(0);
    return *rate->value * 100 /
           std::clamp(std::max(busy_percent, verdict_.share_percent), 1.0, 100.0);
  }

  void add_test(PlannedTest test) {
    if (test.on_address.empty()) {
      return;
    }
    test.time_s = describe(test.kind).seconds;
    test.beside_job = options_.beside_job;
    const double mbps = most_mbps(test);
    if (test.beside_job && test.time_s > kMaxSecondsBesideJob) {
      const double worth_s = mbps > 0 ? kMaxSecondsBesideJob * mean_mbps() / mbps : 1;
      test.time_s = std::clamp(worth_s, kMinSecondsBesideJob, kMaxSecondsBesideJob);
    }
    test.most_bytes = test.time_s * mbps * math::kMega / math::kBits;
    std::vector<std::string> line = words_of(test);
    line.insert(line.begin(), "chokepoint");
    test.command = record::shell_line(line);
    plan_.push_back(std::move(test));
  }

  // With what its peers send; a collective is taken to be as fast as the job is at its fastest.
  double most_mbps(const PlannedTest& test) const {
    if (test.kind != TestKind::Collective) {
      return test.kind == TestKind::Loss ? 2 * test.pace_mbps : test.pace_mbps;
    }
    double all = 0;
    for (const JobPath& path : paths_) {
      all += path.pace.pace(path.rtt_ms).peak_mbps.value_or(0);
    }
    return all;
  }

  // That the job sends all the time, on all paths together.
  double mean_mbps() const {
    double bytes = 0;
    for (const JobPath& path : paths_) {
      bytes += path.bytes;
    }
    std::int64_t longest_ns = 1;
    for (const NodeData& each : run_.nodes) {
      longest_ns = std::max(longest_ns, each.span.end_ns - each.span.start_ns);
    }
    return bytes * math::kBits * math::kNsPerSecond / static_cast<double>(longest_ns) / math::kMega;
  }

  const RunData& run_;
  const Verdict& verdict_;
  const std::int64_t steps_;
  const PlanOptions& options_;
  std::vector<JobPath> paths_;
  std::optional<UsualCollective> collective_;
  const JobPath* path_ = nullptr;
  std::vector<PlannedTest> plan_;
};

}  // namespace

std::vector<PlannedTest> plan_of(const RunData& run, const Inquiry& inquiry,
                                 const PlanOptions& options) {
  return Planner(run, inquiry, options).plan();
}

Result<double> allowed_percent(const RunData& run) {
  constexpr const char* kNextStep =
      "wait for its end, or start it by 'chokepoint run --allow-probes 1%' on every node";
  if (const std::string absent = absent_ranks(run); !absent.empty()) {
    return fail(ErrorKind::Busy, "confirm", absent,
                "the job is running, and no record here says whether its node allows tests",
                kNextStep);
  }
  double least = record::kMaxAllowedPercent;
  for (const NodeData& node : run.nodes) {
    const std::optional<double> allowed = allowed_on(node);
    if (!allowed) {
      return fail(ErrorKind::Busy, "confirm", node.name,
                  "the job is running, and its 'run' was started without --allow-probes",
                  kNextStep);
    }
    least = std::min(least, *allowed);
  }
  return least;
}

double bytes_sent(const RunData& run, const Clocks& clocks) {
  double bytes = 0;
  for (const JobPath& path : job_paths(run, clocks)) {
    bytes += path.bytes;
  }
  return bytes;
}

bool is_wide_area(const RunData& run, const Clocks& clocks, double wan_rtt_ms) {
  const std::vector<JobPath> paths = job_paths(run, clocks);
  const JobPath* most = math::most_by(paths, &JobPath::bytes);
  return most != nullptr && most->rtt_ms.value_or(0) >= wan_rtt_ms;
}

std::vector<std::string> words_of(const PlannedTest& test) {
  std::vector<std::string> words{"ask", test.on_address, describe(test.kind).task};
  const auto add = [&](const char* flag, const std::string& value) {
    words.emplace_back(flag);
    words.push_back(value);
  };
  if (!test.to_address.empty()) {
    add("--peer", test.to_address);
  }
  for (const std::string& host : test.hosts) {
    add("--hosts", host);
  }
  if (test.bytes > 0) {
    add("--bytes", fmt::format("{}", test.bytes));
  }
  if (!test.folder.empty()) {
    add("--folder", test.folder);
  }
  if (test.pace_mbps > 0) {
    add("--rate", fmt::format("{:.0f}k", test.pace_mbps * 1e3));
  }
  add("--time", fmt::format("{:g}", test.time_s));
  return words;
}

}  // namespace chokepoint::analysis::confirm
