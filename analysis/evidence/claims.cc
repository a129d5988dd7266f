#include "analysis/evidence/claims.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analysis/evidence/failures.h"
#include "analysis/evidence/nccl_setup.h"
#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

using About = Claim::About;

constexpr std::size_t kMaxNamed = 8;  // ranks in a list, files in a source

std::string files_text(const std::vector<const ToolFile*>& files) {
  return files.empty()       ? ""
         : files.size() == 1 ? files.front()->file
                             : fmt::format("{} and {} more", files.front()->file, files.size() - 1);
}

std::string ranks_text(const std::vector<std::int64_t>& ranks) {
  const std::vector<std::int64_t> named(
      ranks.begin(),
      ranks.begin() + static_cast<std::ptrdiff_t>(std::min(kMaxNamed, ranks.size())));
  return fmt::format(
      "{} {}{}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(named, ", "),
      ranks.size() > named.size() ? fmt::format(" and {} more", ranks.size() - named.size()) : "");
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

// One process group as all ranks' dumps show it.
class Group {
 public:
  void add(std::int64_t rank, const GroupState& state) {
    GroupState& own = ranks_[rank];
    if (state.enqueued >= own.enqueued) {
      own = state;
    }
    members_.insert(state.members.begin(), state.members.end());
  }

  // The first collective that some rank has not completed. It is missed by a rank that has not even
  // enqueued it, while another has.
  std::optional<std::int64_t> outstanding() const {
    std::int64_t first = INT64_MAX;
    std::int64_t furthest = -1;
    for (const auto& [rank, state] : ranks_) {
      first = std::min(first, std::max<std::int64_t>(state.completed, -1) + 1);
      furthest = std::max(furthest, state.enqueued);
    }
    // Numbers begin with 1, or with 0 in older dumps; a number that no rank called is no
    // collective.
    first = first == 0 && !is_called(0) ? 1 : first;
    return ranks_.size() > 1 && furthest >= first ? std::optional(first) : std::nullopt;
  }

  std::vector<std::int64_t> missing(std::int64_t number) const {
    std::vector<std::int64_t> ranks;
    for (const auto& [rank, state] : ranks_) {
      if (state.enqueued < number) {
        ranks.push_back(rank);
      }
    }
    return ranks;
  }

  // Those whose call differs from that of most.
  std::vector<std::int64_t> unlike(std::int64_t number) const {
    std::map<std::pair<std::string, std::string>, std::vector<std::int64_t>> calls;
    for (const auto& [rank, state] : ranks_) {
      if (const auto call = state.calls.find(number); call != state.calls.end()) {
        calls[key_of(call->second)].push_back(rank);
      }
    }
    std::vector<std::int64_t> ranks;
    const auto most =
        std::ranges::max_element(calls, {}, [](const auto& each) { return each.second.size(); });
    for (auto each = calls.begin(); each != calls.end(); ++each) {
      if (each != most) {
        ranks.insert(ranks.end(), each->second.begin(), each->second.end());
      }
    }
    return ranks;
  }

  std::string operation(std::int64_t number) const {
    for (const auto& [rank, state] : ranks_) {
      const auto call = state.calls.find(number);
      if (call != state.calls.end() && !call->second.operation.empty()) {
        return fmt::format("{} {}", call->second.operation, number);
      }
    }
    return fmt::format("collective {}", number);
  }

  std::size_t size() const { return ranks_.size(); }
  std::vector<std::int64_t> without_dump() const {
    std::vector<std::int64_t> ranks;
    for (const std::int64_t member : members_) {
      if (!ranks_.contains(member)) {
        ranks.push_back(member);
      }
    }
    return ranks;
  }

 private:
  bool is_called(std::int64_t number) const {
    return std::ranges::any_of(
        ranks_, [&](const auto& each) { return each.second.calls.contains(number); });
  }

  // Each rank of these may have its own size, and one that scatters or gathers has no input.
  static std::pair<std::string, std::string> key_of(const Call& call) {
    const bool is_of_any_size = call.operation.find("to_all") != std::string::npos ||
                                call.operation.find("alltoall") != std::string::npos ||
                                call.operation.find("scatter") != std::string::npos ||
                                call.operation.find("gather") != std::string::npos ||
                                call.operation.find("coalesced") != std::string::npos;
    return {call.operation, is_of_any_size ? "" : call.sizes};
  }

  std::map<std::int64_t, GroupState> ranks_;
  std::set<std::int64_t> members_;
};

void add_group_claims(const std::string& name, const Group& group, const Claim& model,
                      std::vector<Claim>& claims) {
  const auto number = group.outstanding();
  if (!number) {
    return;
  }
  Claim claim = model;
  claim.collective = group.operation(*number);
  const std::vector<std::int64_t> missing = group.missing(*number);
  const std::vector<std::int64_t> unlike = group.unlike(*number);
  const std::vector<std::int64_t> without = group.without_dump();
  if (!missing.empty()) {
    claim.about = About::MissingRank;
    claim.rank = missing.front();
    claim.what =
        fmt::format("{} {} not come to {} of group {}, which others wait in", ranks_text(missing),
                    missing.size() == 1 ? "has" : "have", claim.collective, name);
  } else if (!unlike.empty()) {
    claim.about = About::OtherCall;
    claim.rank = unlike.front();
    claim.what = fmt::format("{} called something else than the others as {} of group {}",
                             ranks_text(unlike), claim.collective, name);
  } else if (without.empty()) {
    claim.about = About::NoneMissing;
    claim.is_firm = false;
    claim.what = fmt::format("all {} ranks of group {} have come to {}, and it is not over",
                             group.size(), name, claim.collective);
  } else {
    claim.about = About::MissingRank;
    claim.rank = without.size() == 1 ? std::optional(without.front()) : std::nullopt;
    claim.is_firm = false;
    claim.what = fmt::format("all dumps of group {} are in {}, and there is none of {}", name,
                             claim.collective, ranks_text(without));
  }
  claims.push_back(std::move(claim));
}

void add_flight_recorder(const std::vector<ToolFile>& all, std::vector<Claim>& claims) {
  constexpr std::size_t kMaxClaims = 16;
  const auto files = of_tool(all, Tool::FlightRecorder);
  std::map<std::string, Group> groups;
  for (const ToolFile* each : files) {
    for (const RankRecord& own : each->ranks) {
      for (const auto& [name, state] : own.states) {
        if (own.rank) {
          groups[name].add(*own.rank, state);
        }
      }
    }
  }
  const Claim model{.tool = Tool::FlightRecorder,
                    .is_firm = true,
                    .span = span_of(files),
                    .from = files_text(files)};
  std::vector<Claim> found;
  for (const auto& [name, group] : groups) {
    add_group_claims(name, group, model, found);
  }
  std::ranges::stable_sort(found, {}, &Claim::about);
  found.resize(std::min(found.size(), kMaxClaims));
  std::ranges::move(found, std::back_inserter(claims));
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
      if (ms && own.gpu) {
        exposed.push_back(static_cast<double>(own.gpu->exposed_ns) / 1e6 /
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
  add_flight_recorder(all, claims);
  add_ras(all, claims);
  for (const Tool tool : {Tool::Profiler, Tool::Inspector, Tool::FlightRecorder}) {
    add_late_rank(all, tool, claims);
  }
  add_steps(all, claims);
  add_slurm(all, claims);
  std::ranges::move(claims_of_failures(all), std::back_inserter(claims));
  std::ranges::move(claims_of_nccl_setup(all), std::back_inserter(claims));
  return claims;
}

}  // namespace chokepoint::analysis
