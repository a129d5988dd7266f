#include "analysis/attribution/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "analysis/attribution/gpu_clocks.h"
#include "analysis/attribution/hosts.h"
#include "analysis/attribution/input.h"
#include "analysis/attribution/route.h"
#include "analysis/attribution/transfers.h"
#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

// docs/internals/attribution.md, "Order of arrival": with 5 to 19 steps an uneven lateness is no
// verdict, with fewer a small one.
constexpr std::size_t kMinStepsForLateness = 5;
constexpr std::int64_t kSignalExitBase = 128;  // a shell adds the signal's number to it

Where place_of(const NodeData& node) { return {.node = node.name, .rank = node.rank()}; }

// A rank ended by a signal goes before any other; else the one that ended first.
bool went_before(const NodeData& one, const NodeData& other) {
  const bool is_one_killed = one.exit_status.value_or(0) > kSignalExitBase;
  const bool is_other_killed = other.exit_status.value_or(0) > kSignalExitBase;
  return is_one_killed != is_other_killed ? is_one_killed : one.span.end_ns < other.span.end_ns;
}

// A traceback or Ctrl-C on every node. Where one rank was killed, the others fail for that. `gone`:
// those killed come first.
bool is_failure_of_all(const RunData& run, const std::vector<const NodeData*>& gone) {
  const std::int64_t status = *gone.front()->exit_status;
  return run.nodes.size() > 1 && gone.size() == run.nodes.size() &&
         (status <= kSignalExitBase || std::ranges::all_of(gone, [&](const NodeData* node) {
            return *node->exit_status == status;
          }));
}

// Ranks that come late by turns, as on any host, delay each other equally: only the excess counts.
double more_than_others_ms(const Phases& phases, const RankLateness& own) {
  const auto others = static_cast<double>(phases.ranks.size()) - 1;
  return others < 1 ? own.late_ms : own.late_ms - (phases.waiting_ms() - own.late_ms) / others;
}

// A rank that is late in few of the steps in which ranks exchange, and not at all in others: it
// saves a checkpoint, evaluates, writes a log.
struct Pauses {
  double every_steps = 0;
  double ms = 0;
};

// The settled step in which the others waited.
std::optional<std::size_t> step_of(const Late& late, const std::vector<Span>& steps) {
  const auto after = std::ranges::upper_bound(steps, late.waited.end_ns, {}, &Span::start_ns);
  // Between two settled steps there may be others.
  return after != steps.begin() && late.waited.end_ns <= std::prev(after)->end_ns
             ? std::optional(static_cast<std::size_t>(after - steps.begin()) - 1)
             : std::nullopt;
}

bool is_of(const RankLateness& rank, const Late& late) {
  return late.node == rank.node &&
         (late.rank == rank.rank || std::ranges::count(rank.similar, late.rank) > 0);
}

// A step in which ranks exchange: in others none can be late.
struct MeetingStep {
  std::size_t step = 0;  // of the settled ones
  double late_ms = 0;    // of the rank
  double others_ms = 0;  // of all others together
};

std::vector<MeetingStep> meeting_steps(const DiagnosisInput& input, const RankLateness& rank) {
  const std::vector<Span>& steps = input.steps.settled;
  std::vector<MeetingStep> all(steps.size());
  for (const Late& late : input.phases.late) {
    if (const auto step = step_of(late, steps)) {
      MeetingStep& meeting = all[*step];
      (is_of(rank, late) ? meeting.late_ms : meeting.others_ms) += late.lost_ns / 1e6;
    }
  }
  std::vector<MeetingStep> meetings;
  for (std::size_t step = 0; step < all.size(); ++step) {
    all[step].step = step;
    if (all[step].late_ms > 0 || covered_ns(input.phases.communicating, steps[step]) > 0) {
      meetings.push_back(all[step]);
    }
  }
  return meetings;
}

// As with local SGD: steps without any exchange, and every so many one with.
bool meets_seldom(const DiagnosisInput& input, const std::vector<MeetingStep>& meetings) {
  return 2 * meetings.size() < input.steps.settled.size();
}

std::vector<double> late_in(const std::vector<MeetingStep>& meetings) {
  std::vector<double> late_ms(meetings.size());
  std::ranges::transform(meetings, late_ms.begin(), &MeetingStep::late_ms);
  return late_ms;
}

std::optional<Pauses> pauses_of(const DiagnosisInput& input, const RankLateness& rank) {
  constexpr double kMaxShareOfSteps = 0.34;    // pauses fall into no more of the steps than this,
  constexpr double kMinShareOfLateTime = 0.8;  // and have this share of the rank's lateness
  constexpr double kMinOfLongestPause = 0.5;   // to the longest one: it counts as a pause
  constexpr std::size_t kMinPauses = 3;        // where ranks seldom meet, and as far apart
  constexpr double kMaxUnevenness = 0.25;
  const std::vector<MeetingStep> meetings = meeting_steps(input, rank);
  const std::vector<double> late_ms = late_in(meetings);
  const double longest_ms = late_ms.empty() ? 0 : std::ranges::max(late_ms);
  std::vector<double> pauses;
  std::vector<double> apart;
  std::optional<std::size_t> before;
  for (const MeetingStep& meeting : meetings) {
    if (meeting.late_ms > kMinOfLongestPause * longest_ms) {
      pauses.push_back(meeting.late_ms);
      if (before) {
        apart.push_back(static_cast<double>(meeting.step - *before));
      }
      before = meeting.step;
    }
  }
  const auto few = kMaxShareOfSteps * static_cast<double>(late_ms.size());
  const double all_ms = std::reduce(late_ms.begin(), late_ms.end());
  if (apart.empty() || static_cast<double>(pauses.size()) > few ||
      std::reduce(pauses.begin(), pauses.end()) < kMinShareOfLateTime * all_ms) {
    return std::nullopt;
  }
  const double every_steps = *math::median(apart);
  if (meets_seldom(input, meetings) &&
      (pauses.size() < kMinPauses ||
       *math::median_absolute_deviation(apart) > kMaxUnevenness * every_steps)) {
    return std::nullopt;
  }
  return Pauses{.every_steps = every_steps, .ms = *math::median(pauses)};
}

std::string joined(const std::vector<std::int64_t>& ranks) {
  constexpr std::size_t kMaxListedRanks = 8;
  std::string text;
  for (std::size_t place = 0; place < std::min(ranks.size(), kMaxListedRanks); ++place) {
    text += fmt::format("{}{}", place > 0 ? ", " : "", ranks[place]);
  }
  return ranks.size() <= kMaxListedRanks ? text : text + ", …";
}

const RankLateness& latest_of(const Phases& phases) {
  return *std::ranges::max_element(phases.ranks, {}, &RankLateness::late_ms);
}

// Few steps, in some of which the rank was late and in others not: they do not show whether that
// goes on. A rank that is late for a lasting reason is late by about as much in each.
bool is_uneven(const std::vector<double>& late_ms) {
  constexpr std::size_t kMaxStepsForUnevenness = 20;
  constexpr double kMinUnevenDeviation = 0.35;  // median deviation to the median
  return late_ms.size() >= kMinStepsForLateness && late_ms.size() < kMaxStepsForUnevenness &&
         *math::median_absolute_deviation(late_ms) > kMinUnevenDeviation * *math::median(late_ms);
}

// Ranks that seldom meet have computed for long before, and differ by more than those that meet in
// each step: who is late by chance is late by as little over many meetings as the others.
bool is_late_by_turns(const DiagnosisInput& input, const std::vector<MeetingStep>& meetings) {
  constexpr double kMinErrors = 3;  // standard errors of the mean
  const auto others = static_cast<double>(std::max<std::size_t>(input.phases.ranks.size(), 2)) - 1;
  std::vector<double> more_ms;
  for (const MeetingStep& meeting : meetings) {
    more_ms.push_back(meeting.late_ms - meeting.others_ms / others);
  }
  if (!meets_seldom(input, meetings) || more_ms.size() < 2) {
    return false;
  }
  const auto count = static_cast<double>(more_ms.size());
  const double mean = *math::mean(more_ms);
  const double squares =
      math::sum_by(more_ms, [&](double ms) { return (ms - mean) * (ms - mean); });
  return mean < kMinErrors * std::sqrt(squares / (count - 1) / count);
}

// Processors that tasks wait for make ranks late by turns.
bool is_by_crowd(const DiagnosisInput& input, const Verdict& verdict) {
  constexpr double kMinRankCoreWaitShare = 0.1;  // of the time, in which some task waits for a core
  constexpr double kMaxChanceShare = 0.15;       // of a step
  const auto node = std::ranges::find(input.run.nodes, verdict.where.node, &NodeData::name);
  if (verdict.lost_ms_per_step >= kMaxChanceShare * input.phases.step_ms ||
      node == input.run.nodes.end() || core_wait_share(*node) <= kMinRankCoreWaitShare) {
    return false;
  }
  const auto place = static_cast<std::size_t>(node - input.run.nodes.begin());
  return job_gpus(*node, input.span_of(place)).empty();
}

Verdict* sending_host(const NodeData& node, Findings& findings) {
  const auto found = std::ranges::find_if(findings.verdicts, [&](const Verdict& verdict) {
    return verdict.verdict == VerdictClass::SenderHost && verdict.where.from == node.name;
  });
  return found == findings.verdicts.end() ? nullptr : &*found;
}

}  // namespace

void add_late(const DiagnosisInput& input, Findings& findings) {
  if (input.phases.unattributed.ms > 0) {
    findings.hints.push_back(
        {fmt::format("exchanges waited, no data were under way, and NCCL did not report when ranks "
                     "{} came: only kernel events show that",
                     joined(input.phases.unattributed.ranks)),
         input.phases.unattributed.ms, "ms a step", "collectives of all nodes"});
  }
  if (input.phases.waiting_ms() <= 0) {
    return;
  }
  const RankLateness& latest = latest_of(input.phases);
  const std::size_t place = latest.node;
  const NodeData& node = input.run.nodes[place];
  const HostLoad load = load_of(node, input.span_of(place));
  const double lost_ms = more_than_others_ms(input.phases, latest);
  if (Verdict* host = load.is_starved ? sending_host(node, findings) : nullptr) {
    host->lost_ms_per_step += input.phases.waiting_ms();
    findings.accounting[Account::SenderHost] += input.phases.waiting_ms();
    return;
  }
  findings.accounting[Account::Straggler] += input.phases.waiting_ms();
  Verdict verdict{.verdict = VerdictClass::Straggler,
                  .cause = load.is_starved ? Cause::ProcessCpu : Cause::LateRank,
                  .where = {.node = node.name,
                            .rank = latest.rank >= 0 ? std::optional(latest.rank) : node.rank()},
                  .lost_ms_per_step = lost_ms};
  verdict.evidence.push_back(
      {"arrived last at exchanges, later than the rank before it by", latest.late_ms, "ms a step",
       input.phases.source == PhaseSource::Library ? "collectives of all nodes"
                                                   : "first bytes of all nodes after each pause"});
  if (!latest.similar.empty()) {
    std::vector<std::int64_t> ranks = latest.similar;
    ranks.push_back(latest.rank);
    std::ranges::sort(ranks);
    verdict.where.rank = std::nullopt;
    verdict.cause = load.is_starved ? Cause::ProcessCpu : Cause::LateGroup;
    verdict.evidence.insert(
        verdict.evidence.begin(),
        {fmt::format("ranks {} come late together; which of them the others wait for inside the "
                     "host, only NCCL's kernel events show",
                     joined(ranks)),
         static_cast<double>(ranks.size()), "ranks", "collectives of all nodes"});
  }
  const auto pauses = load.is_starved ? std::nullopt : pauses_of(input, latest);
  if (load.is_starved) {
    add_starvation(node, input.span_of(place), load, verdict.evidence);
  } else if (!explain_by_input(input, place, latest.rank, pauses.has_value(), verdict) &&
             !explain_by_transfers(input, latest, verdict)) {
    if (pauses) {
      verdict.cause = Cause::PeriodicPause;
    } else {
      explain_by_clocks(input, place, verdict);
    }
  }
  if (pauses) {
    verdict.evidence.insert(verdict.evidence.begin(),
                            {{"pauses every", pauses->every_steps, "steps", "lateness by step"},
                             {"each time for", pauses->ms, "ms", "lateness by step"}});
  }
  findings.verdicts.push_back(std::move(verdict));
}

bool is_chance(const DiagnosisInput& input, const Verdict& verdict) {
  if (verdict.cause != Cause::LateRank && verdict.cause != Cause::LateGroup) {
    return false;
  }
  const std::vector<MeetingStep> meetings = meeting_steps(input, latest_of(input.phases));
  return is_uneven(late_in(meetings)) || is_late_by_turns(input, meetings) ||
         is_by_crowd(input, verdict);
}

bool is_undecided(const DiagnosisInput& input, const Verdict& verdict) {
  constexpr double kMaxUndecidedShare = 0.3;  // of a step
  return (verdict.cause == Cause::LateRank || verdict.cause == Cause::LateGroup) &&
         input.steps.settled.size() < kMinStepsForLateness &&
         verdict.lost_ms_per_step < kMaxUndecidedShare * input.phases.step_ms;
}

std::optional<Verdict> early_end(const RunData& run) {
  std::vector<const NodeData*> gone;
  for (const NodeData& node : run.nodes) {
    if (node.exit_status.value_or(0) != 0) {
      gone.push_back(&node);
    }
  }
  if (gone.empty()) {
    return std::nullopt;
  }
  std::ranges::sort(
      gone, [](const NodeData* one, const NodeData* other) { return went_before(*one, *other); });
  const NodeData& first = *gone.front();
  Verdict verdict{.cause = Cause::RankGone, .where = place_of(first), .confidence = 0.8};
  if (is_failure_of_all(run, gone)) {
    verdict.cause = Cause::JobFailed;
    verdict.where = {.node = first.name};
    verdict.confidence = 1;
  } else {
    gone.resize(1);
  }
  for (const NodeData* node : gone) {
    verdict.evidence.push_back(
        {"exit status on " + node->name, static_cast<double>(*node->exit_status), "", "session"});
  }
  explain_failure(run, verdict);
  return verdict;
}

void add_starvation(const DiagnosisInput& input, Findings& findings) {
  for (Verdict& verdict : findings.verdicts) {
    if (verdict.verdict != VerdictClass::SenderHost || verdict.cause != Cause::ProcessCpu) {
      continue;
    }
    const auto node = std::ranges::find(input.run.nodes, verdict.where.from, &NodeData::name);
    if (node == input.run.nodes.end()) {
      continue;
    }
    const auto place = static_cast<std::size_t>(node - input.run.nodes.begin());
    const HostLoad load = load_of(*node, input.span_of(place));
    const double waited_ms = load.is_starved ? load.waited_percent / 100 * input.phases.step_ms : 0;
    const double computing_ms = input.phases.computing_ms - findings.of_computing_ms;
    const double more_ms =
        std::clamp(waited_ms - verdict.lost_ms_per_step, 0.0, std::max(0.0, computing_ms));
    verdict.lost_ms_per_step += more_ms;
    findings.accounting[Account::SenderHost] += more_ms;
    findings.of_computing_ms += more_ms;
    findings.starved.push_back({.node = place, .ms = more_ms});
  }
}

}  // namespace chokepoint::analysis
