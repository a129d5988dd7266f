#include "analysis/evidence/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analysis/evidence/collective_figures.h"
#include "analysis/evidence/failures.h"
#include "analysis/evidence/nccl_setup.h"
#include "analysis/evidence/step_figures.h"
#include "analysis/evidence/wait_graph.h"
#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

using About = Claim::About;

std::string files_text(const std::vector<const ToolFile*>& files) {
  return files.empty()       ? ""
         : files.size() == 1 ? files.front()->file
                             : fmt::format("{} and {} more", files.front()->file, files.size() - 1);
}

std::vector<const ToolFile*> of_tool(const std::vector<ToolFile>& all, Tool tool) {
  std::vector<const ToolFile*> found;
  for (const ToolFile& each : all) {
    if (each.tool == tool) {
      found.push_back(&each);
    }
  }
  return found;
}

WallSpan span_of(const std::vector<const ToolFile*>& files) {
  WallSpan span;
  for (const ToolFile* each : files) {
    if (each->span.is_known()) {
      span.include(each->span.start_ns, each->span.end_ns);
    }
  }
  return span;
}

// How much a reason of waits is to be believed. Judgements; docs/guide/other-tools.md has what was
// counted.
double confidence_in(const WaitReason& reason) {
  using Kind = WaitReason::Kind;
  constexpr double kLessWithoutAll = 0.8;  // where dumps are missing, anybody's may be the reason
  const double of_kind = [&] {
    switch (reason.kind) {
      case Kind::Missing:
      case Kind::Mismatch:
        return 0.9;
      case Kind::Cycle:
      case Kind::Unended:
        return 0.8;
      case Kind::Hung:
        return 0.7;
      case Kind::WithoutDump:
        return reason.ranks.size() == 1 ? 0.65 : 0.45;
      case Kind::Nobody:
        return 0.0;
    }
    return 0.0;
  }();
  const bool lacks_dumps = reason.kind != Kind::WithoutDump && !reason.without_dump.empty();
  return lacks_dumps ? kLessWithoutAll * of_kind : of_kind;
}

About about_of(WaitReason::Kind kind) {
  using Kind = WaitReason::Kind;
  switch (kind) {
    case Kind::Missing:
    case Kind::WithoutDump:
      return About::MissingRank;
    case Kind::Unended:
      return About::Unended;
    case Kind::Cycle:
      return About::Cycle;
    case Kind::Mismatch:
      return About::OtherCall;
    case Kind::Hung:
      return About::NoneMissing;
    case Kind::Nobody:
      break;
  }
  return About::NoneWaits;
}

// What each rank's dumps show; of several of one rank the one that came furthest.
std::vector<RankState> states_of(const std::vector<const ToolFile*>& files) {
  std::map<std::int64_t, const RankRecord*> ranks;
  const auto reached = [](const RankRecord& own) {
    std::int64_t sum = 0;
    for (const auto& [name, state] : own.states) {
      sum += std::min<std::int64_t>(state.enqueued, 1'000'000'000'000);
    }
    return sum;
  };
  for (const ToolFile* each : files) {
    for (const RankRecord& own : each->ranks) {
      if (own.rank) {
        const RankRecord*& known = ranks[*own.rank];
        known = known == nullptr || reached(own) > reached(*known) ? &own : known;
      }
    }
  }
  std::vector<RankState> states;
  for (const auto& [rank, own] : ranks) {
    states.push_back({rank, &own->states, own->leaves_sequence});
  }
  return states;
}

// The reason, and who waits in which group.
void add_waits(const std::vector<ToolFile>& all, Tool tool, std::vector<Claim>& claims) {
  constexpr std::size_t kMaxLines = 64;
  const auto files = of_tool(all, tool);
  const std::vector<RankState> states = states_of(files);
  if (states.empty() || (states.size() == 1 && tool == Tool::JobLog)) {
    return;
  }
  if (states.size() == 1) {
    claims.push_back(
        {.tool = Tool::FlightRecorder,
         .about = About::NoneWaits,
         .what = fmt::format("only a dump of rank {} is here, and for whom it may wait is in those "
                             "of the others",
                             states.front().rank),
         .span = span_of(files),
         .from = files_text(files)});
    return;
  }
  const WaitReason reason = reason_of(states);
  Claim claim{.tool = tool,
              .about = about_of(reason.kind),
              .what = reason.sentence,
              .ranks = reason.ranks,
              .collective = reason.call,
              .unit = "rank",
              .is_firm = reason.kind != WaitReason::Kind::Nobody,
              .confidence = confidence_in(reason),
              .span = span_of(files),
              .from = files_text(files)};
  if (!reason.ranks.empty() && reason.kind != WaitReason::Kind::Hung) {
    claim.rank = reason.ranks.front();
  }
  if (reason.kind != WaitReason::Kind::WithoutDump && !reason.without_dump.empty()) {
    claim.what += fmt::format(" (there is no dump of {})", ranks_text(reason.without_dump));
  }
  claims.push_back(claim);
  for (std::size_t at = 0; at < std::min(kMaxLines, reason.groups.size()); ++at) {
    claims.push_back(
        {.tool = tool, .about = About::Waits, .what = reason.groups[at], .from = claim.from});
  }
  if (reason.groups.size() > kMaxLines) {
    claims.push_back({.tool = tool,
                      .about = About::Waits,
                      .what = fmt::format("{} more", reason.groups.size() - kMaxLines),
                      .from = claim.from});
  }
}

void add_ras(const std::vector<ToolFile>& all, std::vector<Claim>& claims) {
  for (const ToolFile* each : of_tool(all, Tool::Ras)) {
    Claim model{.tool = Tool::Ras, .span = each->span, .from = each->file};
    if (each->ras_is_clean) {
      model.about = About::NoneMissing;
      model.what = "every rank answers, and none has launched more or fewer collectives";
      claims.push_back(model);
    }
    std::map<std::pair<RasRank::State, std::string>, std::vector<const RasRank*>> states;
    for (const RasRank& rank : each->ras) {
      if (rank.is_world && rank.state != RasRank::State::Ahead) {
        states[{rank.state, rank.operation}].push_back(&rank);
      }
    }
    for (const auto& [state, ranks] : states) {
      std::vector<std::int64_t> numbers;
      std::ranges::transform(ranks, std::back_inserter(numbers), &RasRank::rank);
      const RasRank& first = *ranks.front();
      Claim claim = model;
      claim.about = About::MissingRank;
      claim.rank = first.rank;
      claim.ranks = numbers;
      claim.is_firm = first.state != RasRank::State::Behind;
      const char* how = first.state == RasRank::State::Dead     ? "counted as dead"
                        : first.state == RasRank::State::Silent ? "without an answer"
                                                                : "behind";
      claim.what = fmt::format("{}{}: {}", ranks_text(numbers),
                               first.host.empty() ? "" : " on " + first.host, how);
      if (first.state == RasRank::State::Behind) {
        claim.collective = fmt::format("{} {}", first.operation, first.others);
        claim.what += fmt::format(", at {} {}, most others at {}", first.operation, first.count,
                                  first.others);
      }
      claims.push_back(std::move(claim));
    }
  }
}

// Which rank's part of each collective was the shortest: the rank that arrives last waits for none,
// and all others wait for it.
class Lateness {
 public:
  void add(const RankRecord& own) {
    for (const CollectiveTime& each : own.collectives) {
      if (each.group < own.groups.size()) {
        parts_[Key{own.groups[each.group], each.number}].push_back(
            {.rank = *own.rank, .length_ns = each.length_ns});
      }
    }
    ++ranks_;
  }

  struct Last {
    std::int64_t rank = 0;
    double ns = 0;  // by how much it was later than the one before it, all together
    double of_all = 0;
    std::size_t collectives = 0;
  };

  // nullopt where no rank stands out.
  std::optional<Last> last() {
    constexpr double kMinShareOfLateTime = 0.6;   // of all ranks' lateness, to name the rank
    constexpr double kMinLateOfCollective = 0.1;  // of the time that a collective takes at others
    std::map<std::int64_t, double> late_ns;
    double all_ns = 0;
    double longest_ns = 0;
    std::size_t collectives = 0;
    for (auto& [key, parts] : parts_) {
      if (parts.size() < 2) {
        continue;
      }
      std::ranges::sort(parts, {}, &Part::length_ns);
      const auto ns = static_cast<double>(parts[1].length_ns - parts[0].length_ns);
      late_ns[parts[0].rank] += ns;
      all_ns += ns;
      longest_ns += static_cast<double>(parts.back().length_ns);
      ++collectives;
    }
    if (late_ns.empty()) {
      return std::nullopt;
    }
    const auto& [rank, ns] =
        *std::ranges::max_element(late_ns, {}, [](const auto& each) { return each.second; });
    return ns >= kMinShareOfLateTime * all_ns && ns >= kMinLateOfCollective * longest_ns && ns > 0
               ? std::optional(Last{rank, ns, ns / all_ns, collectives})
               : std::nullopt;
  }

  std::size_t ranks() const { return ranks_; }

 private:
  struct Part {
    std::int64_t rank = 0;
    std::int64_t length_ns = 0;
  };
  struct Key {
    std::string group;
    std::uint64_t number = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::string>()(key.group) ^ (key.number * 0x9e3779b97f4a7c15);
    }
  };

  std::unordered_map<Key, std::vector<Part>, Hash> parts_;
  std::size_t ranks_ = 0;
};

std::vector<double> steps_ms(const RankRecord& own) {
  std::vector<double> ms;
  for (const WallSpan& step : own.steps) {
    ms.push_back(static_cast<double>(step.end_ns - step.start_ns) / 1e6);
  }
  return ms;
}

void add_late_rank(const std::vector<ToolFile>& all, Tool tool, std::vector<Claim>& claims) {
  const auto files = of_tool(all, tool);
  Lateness lateness;
  std::vector<double> counts;
  std::vector<double> lengths_ms;
  for (const ToolFile* each : files) {
    for (const RankRecord& own : each->ranks) {
      if (!own.rank || own.collectives.empty()) {
        continue;
      }
      lateness.add(own);
      counts.push_back(static_cast<double>(own.steps.size()));
      lengths_ms.push_back(math::median(steps_ms(own)).value_or(0));
    }
  }
  const auto last = lateness.ranks() > 1 ? lateness.last() : std::nullopt;
  if (!last) {
    return;
  }
  const double steps = math::median(counts).value_or(0);
  const bool is_by_step = steps > 0;
  Claim claim{
      .tool = tool,
      .about = About::LateRank,
      .rank = last->rank,
      .value = last->ns / 1e6 / (is_by_step ? steps : static_cast<double>(last->collectives)),
      .unit = is_by_step ? "ms a step" : "ms a collective",
      .step_ms = math::median(lengths_ms).value_or(0),
      .span = span_of(files),
      .from = files_text(files)};
  claim.what = fmt::format(
      "rank {} comes last: its part of {} collectives was the shortest by the most, {:.0f} % of "
      "all such differences",
      last->rank, last->collectives, 100 * last->of_all);
  claims.push_back(std::move(claim));
}

void add_steps(const std::vector<ToolFile>& all, std::vector<Claim>& claims) {
  const auto files = of_tool(all, Tool::Profiler);
  std::vector<double> lengths;
  std::vector<double> exposed;
  for (const ToolFile* each : files) {
    for (const RankRecord& own : each->ranks) {
      const auto ms = math::median(steps_ms(own));
      if (ms) {
        lengths.push_back(*ms);
      }
      if (ms && own.time && own.time->has_kernels) {
        exposed.push_back(static_cast<double>(own.time->exposed_ns) / 1e6 /
                          static_cast<double>(own.steps.size()));
      }
    }
  }
  const auto step_ms = math::median(lengths);
  if (!step_ms) {
    return;
  }
  Claim claim{.tool = Tool::Profiler,
              .about = About::Step,
              .what = "a step, the median",
              .value = step_ms,
              .unit = "ms",
              .step_ms = *step_ms,
              .span = span_of(files),
              .from = files_text(files)};
  claims.push_back(claim);
  if (const auto ms = math::mean(exposed)) {
    claim.about = About::Exposed;
    claim.what = "of a step, NCCL's kernels with no other beside them";
    claim.value = ms;
    claims.push_back(std::move(claim));
  }
}

bool is_going_on(const std::string& state) {
  return state == "RUNNING" || state == "PENDING" || state == "COMPLETING" || state.empty();
}

void add_slurm(const std::vector<ToolFile>& all, std::vector<Claim>& claims) {
  constexpr std::size_t kMaxShown = 32;
  for (const ToolFile* each : of_tool(all, Tool::Slurm)) {
    std::size_t shown = 0;
    for (const SlurmJob& job : each->jobs) {
      const bool is_step = job.id.find('.') != std::string::npos;
      if (is_going_on(job.state) || (is_step && job.state == "COMPLETED") || ++shown > kMaxShown) {
        continue;
      }
      Claim claim{.tool = Tool::Slurm,
                  .about = About::JobEnd,
                  .unit = "exit code",
                  .is_firm = true,
                  .span = job.span.is_known() ? job.span : each->span,
                  .from = each->file};
      const std::string name = job.name.empty() ? "" : fmt::format(" ({})", job.name);
      const bool has_reason = !job.reason.empty() && job.reason != "None";
      claim.what =
          fmt::format("{} {}{}: {}{}{}{}", is_step ? "step" : "job", job.id, name, job.state,
                      has_reason ? ", " + job.reason : "",
                      job.signal.value_or(0) > 0 ? fmt::format(", signal {}", *job.signal) : "",
                      job.nodes.empty() ? "" : " on " + job.nodes);
      if (job.exit_code) {
        claim.value = static_cast<double>(*job.exit_code);
      }
      claims.push_back(std::move(claim));
    }
  }
}

}  // namespace

std::vector<Claim> claims_of(const std::vector<ToolFile>& all) {
  std::vector<Claim> claims;
  for (const Tool tool : {Tool::FlightRecorder, Tool::JobLog}) {
    add_waits(all, tool, claims);
  }
  add_ras(all, claims);
  for (const Tool tool : {Tool::Profiler, Tool::Inspector, Tool::FlightRecorder}) {
    add_late_rank(all, tool, claims);
  }
  add_steps(all, claims);
  add_slurm(all, claims);
  std::ranges::move(claims_of_failures(all), std::back_inserter(claims));
  std::ranges::move(claims_of_nccl_setup(all), std::back_inserter(claims));
  std::ranges::move(claims_of_collectives(all), std::back_inserter(claims));
  std::ranges::move(claims_of_steps(all), std::back_inserter(claims));
  // Values that are wrong matter more than how they come about.
  std::ranges::stable_partition(claims,
                                [](const Claim& each) { return each.about == About::Wrong; });
  return claims;
}

}  // namespace chokepoint::analysis
