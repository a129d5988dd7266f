#include "analysis/attribution/given_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/attribution/causes.h"
#include "analysis/attribution/findings.h"
#include "analysis/attribution/judgement.h"
#include "analysis/attribution/rank_places.h"
#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

using About = Claim::About;

// A judgement, where a claim has none of its own: how often such a verdict is right has not been
// counted.
constexpr double kConfidenceByFiles = 0.5;
constexpr double kMinLostOfStep = 0.1;  // a smaller part of the step is not compared

constexpr std::int64_t kSecondNs = 1'000'000'000;
// A dump is written when a watchdog's time-out has passed (PyTorch's is 10 to 30 min), and Slurm's
// accounts when the job is cleaned up.
constexpr std::int64_t kAfterRunNs = 3600 * kSecondNs;
constexpr std::int64_t kBeforeRunNs = 60 * kSecondNs;

WallSpan wall_of(const RunData& run) {
  WallSpan span;
  for (const NodeData& node : run.nodes) {
    if (node.wall_start_ns > 0) {
      // A record without an end may end at any time; its length is bounded so that sums are.
      constexpr std::int64_t kMaxRunNs = std::int64_t{400} * 86'400 * kSecondNs;
      span.include(
          node.wall_start_ns,
          node.wall_start_ns + std::clamp<std::int64_t>(node.span.length_ns(), 0, kMaxRunNs));
    }
  }
  return span;
}

bool is_near(const WallSpan& own, const WallSpan& other) {
  return !own.is_known() || !other.is_known() ||
         (other.start_ns <= own.end_ns + kAfterRunNs &&
          other.end_ns >= own.start_ns - kBeforeRunNs);
}

std::string apart_text(const WallSpan& run, const WallSpan& other) {
  const bool is_before = other.end_ns < run.start_ns;
  const std::int64_t ns = is_before ? run.start_ns - other.end_ns : other.start_ns - run.end_ns;
  const double minutes = static_cast<double>(ns) / 60e9;
  const std::string length = minutes < 120       ? fmt::format("{:.0f} min", minutes)
                             : minutes < 48 * 60 ? fmt::format("{:.0f} h", minutes / 60)
                                                 : fmt::format("{:.0f} days", minutes / 1440);
  return fmt::format("is of another time: it {} {} {}", is_before ? "ends" : "begins", length,
                     is_before ? "before the run began" : "after the run's end");
}

bool has_rank(const NodeData& node, std::int64_t rank) {
  return std::ranges::any_of(node.processes,
                             [&](const record::Process& each) { return each.rank == rank; });
}

std::string node_of(const RunData& run, std::optional<std::int64_t> rank) {
  for (const NodeData& node : run.nodes) {
    if (rank && has_rank(node, *rank)) {
      return node.name;
    }
  }
  return "";
}

// The job's steps that lie in the span of wall time, their median; of all where it is unknown.
std::optional<double> own_step_ms(const RunData& run, const Inquiry& inquiry,
                                  const WallSpan& span) {
  const std::size_t reference = inquiry.clocks.reference;
  if (reference >= run.nodes.size()) {
    return std::nullopt;
  }
  const NodeData& node = run.nodes[reference];
  const std::int64_t to_wall_ns = node.wall_start_ns - node.span.start_ns;
  std::vector<double> ms;
  for (const Span& step : inquiry.steps.all) {
    const bool is_inside =
        step.end_ns + to_wall_ns > span.start_ns && step.start_ns + to_wall_ns < span.end_ns;
    if (is_inside || !span.is_known()) {
      ms.push_back(static_cast<double>(step.length_ns()) / 1e6);
    }
  }
  return math::median(ms);
}

// Of the accounts, what is neither computing nor waiting for data.
double own_communication_ms(const Accounting& accounting) {
  return accounting.sum() - accounting[Account::Compute] - accounting[Account::Input] -
         accounting[Account::Storage];
}

bool is_unattributed(const Verdict& verdict) {
  const Where& where = verdict.where;
  return (verdict.verdict == VerdictClass::Unknown || verdict.verdict == VerdictClass::Stalled) &&
         verdict.cause == Cause::None && !where.rank && where.node.empty();
}

// Such a job was in no stall at its end, whatever a dump shows of it before.
bool ended_well(const RunData& run) {
  return !run.nodes.empty() &&
         std::ranges::all_of(run.nodes, [](const NodeData& node) { return node.exit_status == 0; });
}

bool is_of_end(const Verdict& verdict) {
  return verdict.cause == Cause::RankGone || verdict.cause == Cause::JobFailed;
}

class Joiner {
 public:
  Joiner(const RunData& run, const DiagnoseOptions& options, Inquiry& inquiry)
      : run_(run), options_(options), inquiry_(inquiry), diagnosis_(inquiry.diagnosis) {}

  void add(const Claim& claim) {
    GivenClaim given{.tool = std::string(chokepoint::name_of(claim.tool)),
                     .what = claim.what,
                     .theirs = claim.value,
                     .unit = claim.unit,
                     .from = claim.from};
    switch (claim.about) {
      case About::MissingRank:
        missing(claim, Cause::RankReported, given);
        break;
      case About::Unended:
        missing(claim, Cause::CallHung, given);
        break;
      case About::Cycle:
        missing(claim, Cause::CallOrder, given);
        break;
      case About::OtherCall:
        missing(claim, Cause::CallMismatch, given);
        break;
      case About::NoneMissing:
        none_missing(claim, given);
        break;
      case About::NoneWaits:
      case About::Waits:
      case About::Unusual:
        break;
      case About::LateRank:
        late(claim, given);
        break;
      case About::Step:
        step(claim, given);
        break;
      case About::Exposed:
        exposed(claim, given);
        break;
      case About::JobEnd:
        job_end(given);
        break;
      case About::Failure:
        failure(claim, given);
        break;
      case About::Setup:
        if (is_unattributed(diagnosis_.verdict)) {
          adopt(VerdictClass::WrongPath, cause_of(claim.setup), claim, 0);
        }
        break;
      case About::Wrong:
        benchmark(claim, Cause::WrongResults);
        break;
      case About::Drop:
        benchmark(claim, Cause::BandwidthDrop);
        break;
      case About::Benchmark:
        benchmark(claim, Cause::Benchmark);
        break;
      case About::Measured:
        break;
    }
    diagnosis_.given.push_back(std::move(given));
  }

 private:
  void name_rank(const Claim& claim, GivenClaim& given) const {
    given.unit = "rank";
    given.theirs.reset();
    if (claim.rank) {
      given.theirs = static_cast<double>(*claim.rank);
    }
    if (diagnosis_.verdict.where.rank) {
      given.ours = static_cast<double>(*diagnosis_.verdict.where.rank);
    }
  }

  // A record without a rank and without a step is of no job, however its command ended.
  bool says_nothing() const {
    return inquiry_.steps.all.empty() && std::ranges::none_of(run_.nodes, [](const NodeData& node) {
             return std::ranges::any_of(
                 node.processes, [](const record::Process& each) { return each.rank.known(); });
           });
  }

  bool gives_verdict(const Claim& claim) const {
    return claim.is_firm && is_unattributed(diagnosis_.verdict) &&
           (!ended_well(run_) || says_nothing());
  }

  void missing(const Claim& claim, Cause cause, GivenClaim& given) {
    Verdict& verdict = diagnosis_.verdict;
    name_rank(claim, given);
    if (claim.rank && gives_verdict(claim)) {
      return adopt(VerdictClass::Stalled, cause, claim, 0);
    }
    const bool is_about_ranks = verdict.verdict == VerdictClass::Stalled || is_of_end(verdict);
    if (!is_about_ranks || !claim.rank || !verdict.where.rank) {
      return;
    }
    const bool is_same = *claim.rank == *verdict.where.rank ||
                         std::ranges::count(claim.ranks, *verdict.where.rank) > 0;
    given.support = is_same ? Support::For : Support::Against;
    note(given);
  }

  // A rank that computes, or hangs in a file system, has not arrived at the collective either.
  void none_missing(const Claim& claim, GivenClaim& given) {
    Verdict& verdict = diagnosis_.verdict;
    if (gives_verdict(claim)) {
      return adopt(VerdictClass::Stalled, Cause::CallHung, claim, 0);
    }
    const bool is_of_rank =
        verdict.verdict == VerdictClass::Stalled && verdict.where.rank.has_value();
    if (is_of_rank) {
      given.unit = "rank";
      given.ours = static_cast<double>(*verdict.where.rank);
      given.support = Support::Against;
      note(given);
    }
  }

  // A run's verdict is about the job; a benchmark by itself has none but its own.
  void benchmark(const Claim& claim, Cause cause) {
    if (run_.nodes.empty() && is_unattributed(diagnosis_.verdict)) {
      adopt(VerdictClass::Unknown, cause, claim, 0);
    }
  }

  void failure(const Claim& claim, GivenClaim& given) {
    Verdict& verdict = diagnosis_.verdict;
    name_rank(claim, given);
    if (gives_verdict(claim)) {
      return adopt(VerdictClass::Unknown, Cause::RankFailed, claim, 0);
    }
    if (is_of_end(verdict) && claim.rank && verdict.where.rank) {
      given.support = *claim.rank == *verdict.where.rank ? Support::For : Support::Against;
      note(given);
    }
  }

  void late(const Claim& claim, GivenClaim& given) {
    Verdict& verdict = diagnosis_.verdict;
    const double step_ms = claim.step_ms;
    const double lost_ms = claim.unit == "ms a step" ? claim.value.value_or(0) : 0;
    const bool matters = step_ms > 0 && lost_ms >= kMinLostOfStep * step_ms;
    given.what += fmt::format("; later by {:.3g} {}", claim.value.value_or(0), claim.unit);
    name_rank(claim, given);
    if (matters && is_unattributed(verdict)) {
      return adopt(VerdictClass::Straggler, Cause::RankReported, claim, lost_ms);
    }
    if (verdict.verdict == VerdictClass::Straggler && verdict.where.rank) {
      given.support = *claim.rank == *verdict.where.rank ? Support::For : Support::Against;
      note(given);
    } else if (matters && lost_ms > verdict.lost_ms_per_step && is_of_steps(verdict)) {
      given.support = Support::Against;
      note(given);
    }
  }

  static bool is_of_steps(const Verdict& verdict) {
    return verdict.verdict != VerdictClass::Stalled && verdict.verdict != VerdictClass::Unknown;
  }

  void step(const Claim& claim, GivenClaim& given) const {
    constexpr double kMaxDeviation = 0.1;
    constexpr double kMinContradiction = 0.25;
    given.ours = own_step_ms(run_, inquiry_, claim.span);
    if (given.ours.value_or(0) > 0 && claim.value.value_or(0) > 0) {
      const double off = std::abs(*claim.value / *given.ours - 1);
      given.support = off <= kMaxDeviation       ? Support::For
                      : off >= kMinContradiction ? Support::Against
                                                 : Support::Nothing;
    }
  }

  // As shares of the step: a profiler makes all of it slower.
  void exposed(const Claim& claim, GivenClaim& given) {
    constexpr double kMaxAgreeingDifference = 0.1;
    constexpr double kMinContradictingDifference = 0.25;
    if (!diagnosis_.accounting || claim.step_ms <= 0 || diagnosis_.accounting->sum() <= 0) {
      return;
    }
    const double ours_ms = own_communication_ms(*diagnosis_.accounting);
    given.ours = ours_ms;
    const double off =
        std::abs(claim.value.value_or(0) / claim.step_ms - ours_ms / diagnosis_.accounting->sum());
    given.support = off <= kMaxAgreeingDifference        ? Support::For
                    : off >= kMinContradictingDifference ? Support::Against
                                                         : Support::Nothing;
    if (given.support == Support::Against) {
      note(given);
    }
  }

  void job_end(GivenClaim& given) {
    std::optional<double> worst;
    for (const NodeData& node : run_.nodes) {
      if (node.exit_status) {
        worst = std::max(worst.value_or(0), static_cast<double>(*node.exit_status));
      }
    }
    given.ours = worst;
    const bool is_well = given.what.find("COMPLETED") != std::string::npos;
    if (worst) {
      given.support = (*worst == 0) == is_well ? Support::For : Support::Against;
    }
    if (is_of_end(diagnosis_.verdict) || diagnosis_.verdict.verdict == VerdictClass::Stalled) {
      diagnosis_.verdict.evidence.push_back(
          {given.tool + ": " + given.what, given.theirs, given.unit, given.from});
    }
  }

  // Beside the verdict's own evidence, whichever side it is on.
  void note(const GivenClaim& given) {
    Verdict& verdict = diagnosis_.verdict;
    verdict.evidence.push_back(
        {given.tool + ": " + given.what, given.theirs, given.unit, given.from});
    if (given.support == Support::Against && verdict.against.empty()) {
      verdict.against = fmt::format("{} says: {} ({})", given.tool, given.what, given.from);
      verdict.confidence = std::round(100 * kContradictedFactor * verdict.confidence) / 100;
    }
  }

  static Cause cause_of(Claim::Setup setup) {
    switch (setup) {
      case Claim::Setup::VirtualInterface:
        return Cause::NcclInterface;
      case Claim::Setup::OneCard:
        return Cause::NcclOneCard;
      case Claim::Setup::NoGpuDirect:
      case Claim::Setup::NoPeerToPeer:
        return Cause::NcclHostCopies;
      case Claim::Setup::Networks:
      case Claim::Setup::Versions:
        return Cause::NcclMixed;
      default:
        return Cause::NcclSockets;
    }
  }

  void adopt(VerdictClass verdict_class, Cause cause, const Claim& claim, double lost_ms) {
    const std::string tool(chokepoint::name_of(claim.tool));
    const double step_ms = own_step_ms(run_, inquiry_, {}).value_or(claim.step_ms);
    Verdict adopted{.verdict = verdict_class,
                    .cause = cause,
                    .where = {.interface = claim.interface,
                              .node = claim.rank ? node_of(run_, claim.rank) : claim.host,
                              .rank = claim.rank,
                              .collective = claim.collective},
                    .lost_ms_per_step = std::min(lost_ms, step_ms),
                    .confidence = claim.confidence > 0 ? claim.confidence : kConfidenceByFiles};
    if (verdict_class != VerdictClass::Straggler) {
      adopted.where.said = claim.what;
    }
    if (claim.ranks.size() > 1) {
      adopted.where.ranks = claim.ranks;
    }
    adopted.share_percent = step_ms > 0 ? 100 * adopted.lost_ms_per_step / step_ms : 0;
    add_interval(step_ms, adopted);
    adopted.evidence.push_back(
        {fmt::format("{}: {}, {}", describe(cause).evidence, tool, claim.what), claim.value,
         claim.unit, claim.from});
    add_places(run_, adopted);
    std::ranges::move(diagnosis_.verdict.evidence, std::back_inserter(adopted.evidence));
    const LimitTimeline none;
    analysis::advise({.run = run_,
                      .options = options_,
                      .clocks = inquiry_.clocks,
                      .steps = inquiry_.steps,
                      .phases = inquiry_.phases,
                      .limit_timeline = inquiry_.limit_timeline ? *inquiry_.limit_timeline : none},
                     adopted);
    diagnosis_.verdict = std::move(adopted);
  }

  const RunData& run_;
  const DiagnoseOptions& options_;
  Inquiry& inquiry_;
  Diagnosis& diagnosis_;
};

}  // namespace

std::vector<ToolFile> of_run(const RunData& run, std::vector<ToolFile> all,
                             std::vector<Error>& troubles) {
  const WallSpan own = wall_of(run);
  std::vector<ToolFile> of_run_files;
  for (ToolFile& each : all) {
    std::erase_if(each.jobs, [&](const SlurmJob& job) { return !is_near(own, job.span); });
    const bool is_accounts = each.tool == Tool::Slurm;
    if ((is_accounts && each.jobs.empty()) || (!is_accounts && !is_near(own, each.span))) {
      troubles.push_back(
          {.kind = ErrorKind::NotFound,
           .operation = "",
           .subject = each.file,
           .reason = is_accounts ? "has no job of the run's time" : apart_text(own, each.span)});
      continue;
    }
    for (const std::string& what : each.left_out) {
      troubles.push_back(
          {.kind = ErrorKind::Malformed, .operation = "", .subject = each.file, .reason = what});
    }
    of_run_files.push_back(std::move(each));
  }
  return of_run_files;
}

void add_ceilings(RunData& run, const std::vector<ToolFile>& all, std::vector<Error>& troubles) {
  for (const ToolFile& each : all) {
    for (const GivenProbe& probe : each.ceilings) {
      Result<> added = add_to(run, probe);
      // Any host of a benchmark stands for all.
      for (std::size_t host = 1; !added && host < each.hosts.size(); ++host) {
        GivenProbe other = probe;
        other.host = each.hosts[host];
        added = add_to(run, other);
      }
      // Without their list it was all that the test had, as it is of the job.
      if (!added && each.tool == Tool::NcclTests && each.hosts.empty() && !run.nodes.empty()) {
        GivenProbe other = probe;
        other.host = run.nodes.front().name;
        added = add_to(run, other);
      }
      if (!added) {
        troubles.push_back(added.error());
      }
    }
  }
}

void hold_against(const std::vector<Claim>& claims, const RunData& run,
                  const DiagnoseOptions& options, Inquiry& inquiry) {
  Joiner joiner(run, options, inquiry);
  for (const Claim& claim : claims) {
    joiner.add(claim);
  }
}

}  // namespace chokepoint::analysis
