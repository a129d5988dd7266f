#include "analysis/attribution/traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "analysis/attribution/causes.h"
#include "analysis/attribution/findings.h"
#include "analysis/attribution/judgement.h"
#include "analysis/evidence/trace_waits.h"
#include "analysis/evidence/wait_graph.h"
#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

constexpr double kMaxExposedPercent = 20;     // of the step: from here on it is the verdict
constexpr double kMinIdlePercent = 20;        // likewise of a GPU without anything to do
constexpr double kMinOfAllLateness = 0.6;     // of all ranks' together, to name one
constexpr double kMinReasonOfLateness = 0.5;  // of a rank's, what one part of its step explains
constexpr double kMinInputOfMost = 0.5;       // to list a rank among those that wait for input

// Judgements; docs/guide/other-tools.md has what was counted.
constexpr double kConfidenceOfSeveral = 0.8;
constexpr double kConfidenceOfOne = 0.55;
constexpr double kFewStepsFactor = 0.8;
constexpr double kAbsentRanksFactor = 0.8;
constexpr double kCloseSecondFactor = 0.8;
constexpr double kNoReasonFactor = 0.75;  // of a late rank that spends its time as the others do
constexpr std::size_t kFewSteps = 3;
constexpr double kCloseSecond = 0.7;

// Of one rank, in ms a step.
struct TracedRank {
  std::optional<std::int64_t> rank = {};
  std::string host = {};
  double steps = 0;
  double step = 0;
  double computing = 0;
  double rest = 0;
  double exposed = 0;
  double waiting = 0;
  double copying = 0;
  double input = 0;
};

struct Traces {
  std::vector<const RankRecord*> records = {};  // with times
  std::vector<double> step_ms = {};             // of all
  std::vector<TracedRank> ranks = {};
  TraceWaits waits = {};
  std::set<std::int64_t> absent = {};
  bool is_one_rank = false;  // the job, as its trace says
  bool has_kernels = false;
  bool lacks_steps = false;  // some trace
  std::string from = {};
};

void add_steps_of(const RankRecord& own, std::vector<double>& ms) {
  for (std::size_t at = 0; at < own.steps.size(); ++at) {
    const bool is_last = at + 1 == own.steps.size();
    const std::int64_t end_ns = is_last ? own.steps[at].end_ns : own.steps[at + 1].start_ns;
    ms.push_back(static_cast<double>(end_ns - own.steps[at].start_ns) / 1e6);
  }
}

void add_times(const RankRecord& own, TracedRank& to) {
  const TraceTime& time = *own.time;
  to.host = to.host.empty() ? own.host : to.host;
  to.steps += static_cast<double>(time.steps);
  to.step += static_cast<double>(time.window_ns) / 1e6;
  to.computing += static_cast<double>(time.computing_ns) / 1e6;
  to.rest += static_cast<double>(time.rest_ns()) / 1e6;
  to.exposed += static_cast<double>(time.exposed_ns) / 1e6;
  to.copying += static_cast<double>(time.copying_ns) / 1e6;
  to.input += static_cast<double>(time.input_ns) / 1e6;
}

void scale_to_step(TracedRank& rank) {
  for (double* ms : {&rank.step, &rank.computing, &rank.rest, &rank.exposed, &rank.waiting,
                     &rank.copying, &rank.input}) {
    *ms /= rank.steps;
  }
}

// A rank may have several traces, of other steps each.
std::vector<TracedRank> traced_ranks_of(const std::vector<const RankRecord*>& records,
                                        const TraceWaits& waits) {
  std::vector<TracedRank> ranks;
  for (const RankRecord* own : records) {
    const auto known = std::ranges::find_if(
        ranks, [&](const TracedRank& each) { return own->rank && each.rank == own->rank; });
    TracedRank& to = known == ranks.end() ? ranks.emplace_back() : *known;
    to.rank = own->rank;
    add_times(*own, to);
  }
  for (TracedRank& each : ranks) {
    const auto waited = each.rank ? waits.waiting_ns.find(*each.rank) : waits.waiting_ns.end();
    each.waiting = waited == waits.waiting_ns.end() ? 0 : static_cast<double>(waited->second) / 1e6;
    scale_to_step(each);
  }
  std::ranges::sort(ranks, {}, &TracedRank::rank);
  return ranks;
}

std::set<std::int64_t> absent_of(const std::vector<const RankRecord*>& records) {
  constexpr std::int64_t kMaxAbsent = 4096;  // of a larger job not each is listed
  std::int64_t size = 0;
  std::set<std::int64_t> absent;
  for (const RankRecord* own : records) {
    size = std::max(size, std::min(own->world_size, kMaxAbsent));
  }
  for (std::int64_t rank = 0; rank < size; ++rank) {
    absent.insert(rank);
  }
  for (const RankRecord* own : records) {
    absent.erase(own->rank.value_or(-1));
  }
  return absent;
}

Traces traces_of(const std::vector<ToolFile>& files) {
  Traces traces;
  std::vector<const RankRecord*> known;
  for (const ToolFile& file : files) {
    for (const RankRecord& own : file.ranks) {
      if (file.tool == Tool::Profiler && own.time) {
        traces.from = traces.from.empty() ? file.file : traces.from;
        traces.records.push_back(&own);
        traces.has_kernels = traces.has_kernels || own.time->has_kernels;
        add_steps_of(own, traces.step_ms);
        if (own.rank) {
          known.push_back(&own);
        }
      }
      traces.lacks_steps |= file.tool == Tool::Profiler && own.steps.empty();
    }
  }
  if (traces.records.size() > 1) {
    traces.from += fmt::format(" and {} more", traces.records.size() - 1);
  }
  traces.waits = waits_of(known);
  traces.ranks = traced_ranks_of(traces.records, traces.waits);
  traces.absent = absent_of(traces.records);
  traces.is_one_rank = traces.records.size() == 1 && traces.records.front()->world_size == 1;
  return traces;
}

double steps_of(const Traces& traces, std::int64_t rank) {
  const auto found = std::ranges::find(traces.ranks, rank, &TracedRank::rank);
  return found == traces.ranks.end() ? 1 : std::max(found->steps, 1.0);
}

struct LatestRank {
  const TracedRank* rank = nullptr;
  double ms = 0;  // a step, that others wait for it
};

// Who of all is the one whom the others wait for; nullopt where ranks are late by turns.
std::optional<LatestRank> late_rank(const Traces& traces) {
  double all = 0;
  std::pair<std::int64_t, double> most{-1, 0.0};
  for (const auto& [rank, ns] : cost_of_ranks(traces.waits)) {
    all += ns;
    most = ns > most.second ? std::pair(rank, ns) : most;
  }
  const auto found = std::ranges::find(traces.ranks, most.first, &TracedRank::rank);
  if (found == traces.ranks.end() || most.second < kMinOfAllLateness * all) {
    return std::nullopt;
  }
  return LatestRank{&*found, most.second / 1e6 / steps_of(traces, most.first)};
}

// By how much it spends more on something than the others do, the median of them.
double more_than_others(const Traces& traces, const TracedRank& rank, double TracedRank::* part) {
  std::vector<double> others;
  for (const TracedRank& each : traces.ranks) {
    if (&each != &rank) {
      others.push_back(each.*part);
    }
  }
  return rank.*part - math::median(others).value_or(0);
}

Accounting accounting_of(const Traces& traces, const TracedRank* late) {
  Accounting accounting;
  double count = 0;
  for (const TracedRank& each : traces.ranks) {
    if (&each == late) {
      continue;
    }
    ++count;
    accounting[Account::Compute] += each.computing + each.rest;
    accounting[Account::Straggler] += std::min(each.waiting, each.exposed);
    accounting[Account::Other] += std::max(0.0, each.exposed - each.waiting);
    accounting[Account::Pcie] += each.copying;
    accounting[Account::Input] += each.input;
  }
  for (double& ms : accounting.ms) {
    ms /= std::max(count, 1.0);
  }
  return accounting;
}

class TraceJudge {
 public:
  explicit TraceJudge(const Traces& traces)
      : traces_(traces),
        late_(late_rank(traces)),
        accounting_(accounting_of(traces, late_ ? late_->rank : nullptr)) {}

  const Accounting& accounting() const { return accounting_; }

  // The largest first; the last one is computing.
  std::vector<Verdict> verdicts() const {
    std::vector<Verdict> found;
    if (late_) {
      found.push_back(straggler());
    }
    found.push_back(input());
    found.push_back(copies());
    const double exposed_ms = exposed();
    if (exposed_ms >= kMaxExposedPercent / 100 * accounting_.sum()) {
      found.push_back(communication(exposed_ms));
    }
    for (Verdict& verdict : found) {
      verdict.lost_ms_per_step = std::min(verdict.lost_ms_per_step, accounting_.sum());
      verdict.share_percent = 100 * verdict.lost_ms_per_step / accounting_.sum();
      add_interval(accounting_.sum(), verdict);
    }
    std::erase_if(found,
                  [](const Verdict& verdict) { return verdict.share_percent < kMattersPercent; });
    std::ranges::sort(found, std::greater<>(), &Verdict::lost_ms_per_step);
    found.push_back(computing(found));
    for (std::size_t at = 0; at < found.size(); ++at) {
      const bool has_next = at + 2 < found.size();
      found[at].confidence = confidence(found[at], has_next ? found[at + 1].lost_ms_per_step : 0);
    }
    return found;
  }

 private:
  // What a late rank costs is not communication's.
  double exposed() const {
    return accounting_[Account::Other] + (late_ ? 0 : accounting_[Account::Straggler]);
  }

  Evidence ms(std::string what, double value) const {
    return {std::move(what), value, "ms", traces_.from};
  }

  Verdict straggler() const {
    const TracedRank& rank = *late_->rank;
    Verdict verdict{.verdict = VerdictClass::Straggler,
                    .cause = Cause::RankReported,
                    .where = {.node = rank.host, .rank = rank.rank},
                    .lost_ms_per_step = late_->ms};
    const double input_ms = more_than_others(traces_, rank, &TracedRank::input);
    if (input_ms >= kMinReasonOfLateness * late_->ms) {
      verdict.cause = Cause::Input;
    }
    verdict.evidence.push_back(ms(fmt::format("{}: profiler, others wait for rank {} a step",
                                              describe(Cause::RankReported).evidence, *rank.rank),
                                  late_->ms));
    const auto part = reason_of(rank);
    if (part.second >= kMinReasonOfLateness * late_->ms) {
      verdict.evidence.push_back(ms(part.first + ", more than others", part.second));
    }
    return verdict;
  }

  // What the late rank spends more time on than others.
  std::pair<std::string, double> reason_of(const TracedRank& rank) const {
    const std::string_view rest = traces_.has_kernels
                                      ? "without anything for its GPU to do"
                                      : "in the program itself, outside of any operator";
    std::pair<std::string, double> most{"", 0.0};
    for (const auto& [words, part] :
         {std::pair<std::string_view, double TracedRank::*>(
              traces_.has_kernels ? "in kernels" : "in operators", &TracedRank::computing),
          {rest, &TracedRank::rest},
          {"waiting for its next batch", &TracedRank::input},
          {"copying between its GPU and the host", &TracedRank::copying}}) {
      const double more_ms = more_than_others(traces_, rank, part);
      most = more_ms > most.second ? std::pair(std::string(words), more_ms) : most;
    }
    return {fmt::format("rank {} {}, a step", *rank.rank, most.first), most.second};
  }

  Verdict input() const {
    Verdict verdict{.verdict = VerdictClass::Input,
                    .where = where_of(&TracedRank::input),
                    .lost_ms_per_step = accounting_[Account::Input]};
    verdict.evidence.push_back(
        ms("waiting for the next batch (DataLoader), a step", accounting_[Account::Input]));
    return verdict;
  }

  Verdict copies() const {
    Verdict verdict{.verdict = VerdictClass::PcieGpu,
                    .cause = Cause::ExposedCopies,
                    .where = where_of(&TracedRank::copying),
                    .lost_ms_per_step = accounting_[Account::Pcie]};
    verdict.evidence.push_back(ms("copied between GPU and host while nothing else ran, a step",
                                  accounting_[Account::Pcie]));
    return verdict;
  }

  Verdict communication(double exposed_ms) const {
    Verdict verdict{.cause = Cause::ExposedCommunication, .lost_ms_per_step = exposed_ms};
    verdict.evidence.push_back(ms("communication that nothing hides, a step", exposed_ms));
    if (!late_ && accounting_[Account::Straggler] > 0) {
      verdict.evidence.push_back(ms("of that, waiting for ranks that come later, by turns",
                                    accounting_[Account::Straggler]));
    }
    return verdict;
  }

  Verdict computing(const std::vector<Verdict>& others) const {
    Verdict verdict{.verdict = VerdictClass::Compute,
                    .share_percent = 100 * accounting_[Account::Compute] / accounting_.sum()};
    const double rest_ms =
        math::sum_by(traces_.ranks, &TracedRank::rest) / static_cast<double>(traces_.ranks.size());
    const std::string idle = "a GPU had no kernel, copy or collective, a step";
    const std::string outside = "in the program itself, outside of any operator, a step";
    verdict.evidence.push_back(
        ms("computing, and communication hidden behind it", accounting_[Account::Compute]));
    verdict.evidence.push_back(ms(traces_.has_kernels ? idle : outside, rest_ms));
    if (traces_.has_kernels && rest_ms >= kMinIdlePercent / 100 * accounting_.sum()) {
      verdict.cause = Cause::GpuIdle;
      std::swap(verdict.evidence[0], verdict.evidence[1]);
    }
    if (!others.empty()) {
      verdict.lost_ms_per_step = 0;
    }
    return verdict;
  }

  // The host and the ranks that spend it, where these are not all.
  Where where_of(double TracedRank::* part) const {
    Where where;
    std::set<std::string> hosts;
    const double most = math::most_by(traces_.ranks, part)->*part;
    for (const TracedRank& each : traces_.ranks) {
      if (each.*part >= kMinInputOfMost * most) {
        hosts.insert(each.host);
        if (each.rank) {
          where.ranks.push_back(*each.rank);
        }
      }
    }
    where.node = hosts.size() == 1 ? *hosts.begin() : "";
    if (where.ranks.size() == traces_.ranks.size()) {
      where.ranks.clear();
    } else if (!where.ranks.empty()) {
      where.rank = where.ranks.front();
    }
    return where;
  }

  double confidence(const Verdict& verdict, double next_ms) const {
    const double lost_ms = verdict.lost_ms_per_step;
    const bool has_waits =
        traces_.is_one_rank || (traces_.ranks.size() > 1 && traces_.waits.collectives > 0);
    double confidence = has_waits ? kConfidenceOfSeveral : kConfidenceOfOne;
    confidence *= has_waits && !traces_.absent.empty() ? kAbsentRanksFactor : 1;
    confidence *= traces_.step_ms.size() < kFewSteps * traces_.records.size() ? kFewStepsFactor : 1;
    confidence *= lost_ms > 0 && next_ms > kCloseSecond * lost_ms ? kCloseSecondFactor : 1;
    const bool lacks_reason =
        verdict.verdict == VerdictClass::Straggler && verdict.evidence.size() < 2;
    confidence *= lacks_reason ? kNoReasonFactor : 1;
    return std::round(100 * confidence) / 100;
  }

  const Traces& traces_;
  std::optional<LatestRank> late_;
  Accounting accounting_;
};

void add_missing(const Traces& traces, Diagnosis& diagnosis) {
  if (!traces.absent.empty()) {
    diagnosis.missing.push_back(
        fmt::format("there is no trace of {}: whether others wait for them is unknown",
                    ranks_text({traces.absent.begin(), traces.absent.end()})));
  } else if (traces.ranks.size() == 1 && !traces.is_one_rank) {
    diagnosis.missing.emplace_back(
        "one trace alone: whether its communication waits for a late rank is in those of others");
  } else if (traces.ranks.size() > 1 && traces.waits.collectives == 0) {
    diagnosis.missing.emplace_back(
        "the traces have no collective in common: which rank comes late is unknown");
  }
}

void add_figures(const Traces& traces, Diagnosis& diagnosis) {
  diagnosis.steps.source = record::StepSource::Marks;
  double most = 0;
  for (const TracedRank& each : traces.ranks) {
    most = std::max(most, each.steps);
    if (each.rank) {
      diagnosis.ranks.push_back({.rank = *each.rank,
                                 .node = each.host,
                                 .computing_ms = each.computing + each.rest,
                                 .waiting_ms = std::min(each.waiting, each.exposed),
                                 .communicating_ms = std::max(0.0, each.exposed - each.waiting)});
    }
  }
  diagnosis.steps.count = static_cast<std::int64_t>(most);
  diagnosis.steps.settled = diagnosis.steps.count;
  diagnosis.steps.mean_ms = diagnosis.accounting->sum();
  diagnosis.steps.median_ms = math::median(traces.step_ms);
  diagnosis.steps.p99_ms = math::quantile(traces.step_ms, 0.99);
}

// Of a failure, a hang or another tool's verdict, which says more than how the time is spent.
bool stands(const Verdict& given, const Verdict& own) {
  return given.verdict == VerdictClass::Stalled || given.cause == Cause::RankFailed ||
         given.cause == Cause::WrongResults ||
         (given.verdict == VerdictClass::WrongPath && own.cause == Cause::ExposedCommunication);
}

}  // namespace

void judge_traces(const std::vector<ToolFile>& files, const RunData& run,
                  const DiagnoseOptions& options, Inquiry& inquiry) {
  Diagnosis& diagnosis = inquiry.diagnosis;
  const Traces traces = traces_of(files);
  if (traces.lacks_steps) {
    diagnosis.missing.emplace_back(
        "a trace without steps says nothing of them: the program calls profiler.step() after each");
  }
  if (traces.ranks.empty()) {
    return;
  }
  const TraceJudge judge(traces);
  diagnosis.accounting = judge.accounting();
  add_figures(traces, diagnosis);
  add_missing(traces, diagnosis);
  std::vector<Verdict> found = judge.verdicts();
  const LimitTimeline none;
  for (Verdict& verdict : found) {
    advise({.run = run,
            .options = options,
            .clocks = inquiry.clocks,
            .steps = inquiry.steps,
            .phases = inquiry.phases,
            .limit_timeline = none},
           verdict);
  }
  const bool is_lost =
      100 * found.front().lost_low_ms >= kMattersPercent * judge.accounting().sum();
  Verdict own = is_lost ? found.front() : found.back();
  found.pop_back();
  if (is_lost) {
    found.erase(found.begin());
  }
  if (!stands(diagnosis.verdict, own)) {
    diagnosis.verdict = std::move(own);
  } else if (diagnosis.verdict.verdict == VerdictClass::WrongPath) {
    diagnosis.verdict.lost_ms_per_step = own.lost_ms_per_step;
    diagnosis.verdict.share_percent = own.share_percent;
    add_interval(judge.accounting().sum(), diagnosis.verdict);
  }
  diagnosis.others = std::move(found);
}

}  // namespace chokepoint::analysis
