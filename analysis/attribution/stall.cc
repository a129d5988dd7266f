#include "analysis/attribution/stall.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/record/names.h"
#include "base/record/stall.h"

namespace chokepoint::analysis {
namespace {

using record::entered;
using record::RankDoes;
using record::Stall;
using record::StallCollective;
using record::StallRank;
using record::StallState;
using record::waited_for;

// Without rows the watch has ended: it writes some each second.
constexpr std::int64_t kMinSilenceNs = 8'000'000'000;
// After the last progress: data that come later were not under way already.
constexpr std::int64_t kArrivalMarginNs = 1'000'000'000;
// Of a job that failed: what a rank does so shortly before the end is no work on its steps.
constexpr std::int64_t kMaxLastStallNs = 15'000'000'000;
// Judgements: docs/internals/run-stalls.md, "Causes".
constexpr double kConfidenceOfNode = 0.95;
constexpr double kConfidenceOfRecords = 0.85;

struct Standing {
  std::size_t node = 0;
  std::int64_t t_ns = 0;  // the node's own
  Stall stall = {};
};

struct Suspect {
  const Standing* standing = nullptr;
  const StallRank* rank = nullptr;
};

// Of a node by time; what cannot be read is left out.
std::vector<Standing> stalls_reported_by(const RunData& run, std::size_t place) {
  std::vector<Standing> reported;
  for (const record::Event& event : run.nodes[place].events) {
    if (event.kind == record::kStall) {
      if (auto stall = record::stall_in(event.detail)) {
        reported.push_back({.node = place, .t_ns = event.t_ns, .stall = *std::move(stall)});
      }
    }
  }
  std::ranges::stable_sort(reported, {}, &Standing::t_ns);
  return reported;
}

std::optional<Standing> last_of(const RunData& run, std::size_t place) {
  const NodeData& node = run.nodes[place];
  std::vector<Standing> reported = stalls_reported_by(run, place);
  const bool has_failed = node.exit_status.value_or(0) != 0;
  // What a rank does in the last seconds of a job that fails is no work on its steps: a watchdog
  // writes what it knows, or ends the job.
  while (has_failed && reported.size() > 1 && reported.back().stall.state == StallState::Moves &&
         node.span.end_ns - reported.back().t_ns < kMaxLastStallNs &&
         reported[reported.size() - 2].stall.state != StallState::Over) {
    reported.pop_back();
  }
  if (reported.empty() || reported.back().stall.state == StallState::Over ||
      node.exit_status == 0) {
    return std::nullopt;
  }
  return std::move(reported.back());
}

std::string text_of(const StallCollective* each) {
  return each == nullptr ? "" : record::text_of(*each);
}

class Judge {
 public:
  Judge(const RunData& run, const Clocks& clocks) : run_(run), clocks_(clocks) {
    for (std::size_t place = 0; place < run.nodes.size(); ++place) {
      if (auto standing = last_of(run, place)) {
        all_.push_back(*std::move(standing));
      }
    }
    compare_collectives();
  }

  std::optional<Verdict> verdict() const {
    if (all_.empty() || is_still_working()) {
      return std::nullopt;
    }
    for (const auto& rule :
         {&Judge::host_gone, &Judge::stopped, &Judge::hanging, &Judge::dead_path, &Judge::rank_gone,
          &Judge::different, &Judge::missing, &Judge::past_limit}) {
      if (auto found = std::invoke(rule, *this)) {
        found->verdict = VerdictClass::Stalled;
        add_evidence(*found);
        return found;
      }
    }
    return std::nullopt;
  }

  // Of a job that stands at the limit, but may do so on purpose.
  std::string pause() const {
    if (all_.empty() || !is_still_working()) {
      return "";
    }
    const auto worker = working();
    if (!worker) {
      return "";
    }
    const NodeData& node = run_.nodes[worker->standing->node];
    const StallCollective* awaited = waited_for(*worker->rank);
    return fmt::format(
        "no step has ended for {:.0f} s: {} on {} works{}; an evaluation, a checkpoint, a compiler "
        "or a loop without end, which is not known yet",
        static_cast<double>(node.span.end_ns - worker->standing->stall.since_ns) / 1e9,
        worker->rank->rank ? fmt::format("rank {}", *worker->rank->rank)
                           : fmt::format("process {}", worker->rank->pid),
        node.name,
        awaited == nullptr ? ""
                           : fmt::format(", and the others wait for it in {}", text_of(awaited)));
  }

 private:
  // What each node could not know of its ranks by their collectives of NCCL.
  void compare_collectives() {
    std::vector<StallRank*> ranks;
    for (Standing& standing : all_) {
      for (StallRank& rank : standing.stall.ranks) {
        ranks.push_back(&rank);
      }
    }
    record::compare_collectives(ranks);
    for (Standing& standing : all_) {
      const auto has = [&](RankDoes does) {
        return std::ranges::count(standing.stall.ranks, does, &StallRank::does) > 0;
      };
      StallState& state = standing.stall.state;
      if (has(RankDoes::Absent) || has(RankDoes::Differs)) {
        state = StallState::Stands;
      } else if (state == StallState::Moves && !has(RankDoes::Moves) && !has(RankDoes::Spins)) {
        state = StallState::Waits;
      }
    }
  }

  bool is_any(StallState state) const {
    return std::ranges::any_of(all_,
                               [&](const Standing& each) { return each.stall.state == state; });
  }

  // Elsewhere, for those that wait; or here, as long as its node has not passed its limits. A
  // stopped rank is one, whatever the others do, and one that only takes a processor may wait
  // itself.
  bool is_still_working() const {
    if (!is_any(StallState::Moves) || suspect(RankDoes::Stopped)) {
      return false;
    }
    return suspect(RankDoes::Moves) || !is_any(StallState::Stands);
  }

  std::int64_t end_ns(std::size_t node) const {
    return clocks_.common_ns(node, run_.nodes[node].span.end_ns);
  }

  std::optional<Suspect> suspect(RankDoes does) const {
    for (const Standing& standing : all_) {
      for (const StallRank& rank : standing.stall.ranks) {
        if (rank.does == does) {
          return Suspect{.standing = &standing, .rank = &rank};
        }
      }
    }
    return std::nullopt;
  }

  // The others may poll while they wait for it.
  std::optional<Suspect> working() const {
    const auto found = suspect(RankDoes::Moves);
    if (found) {
      return found;
    }
    for (const Standing& standing : all_) {
      for (const StallRank& rank : standing.stall.ranks) {
        if (rank.does == RankDoes::Spins && waited_for(rank) != nullptr) {
          return Suspect{.standing = &standing, .rank = &rank};
        }
      }
    }
    return suspect(RankDoes::Spins);
  }

  Where place_of(const Suspect& suspect) const {
    return {.node = run_.nodes[suspect.standing->node].name,
            .rank = suspect.rank->rank,
            .mount = suspect.rank->mount};
  }

  std::string source_of(const Standing& standing) const {
    return fmt::format("event {} of {}", record::kStall, run_.nodes[standing.node].name);
  }

  std::optional<Verdict> host_gone() const {
    std::int64_t newest_ns = 0;
    for (std::size_t node = 0; node < run_.nodes.size(); ++node) {
      newest_ns = std::max(newest_ns, end_ns(node));
    }
    for (std::size_t node = 0; node < run_.nodes.size(); ++node) {
      const double behind_s = static_cast<double>(newest_ns - end_ns(node)) / 1e9;
      if (!run_.nodes[node].is_complete && newest_ns - end_ns(node) > kMinSilenceNs) {
        return Verdict{.cause = Cause::HostGone,
                       .where = {.node = run_.nodes[node].name},
                       .confidence = kConfidenceOfNode,
                       .evidence = {{"its record ended before the others' by", behind_s, "s",
                                     "the newest rows of all nodes"}}};
      }
    }
    return std::nullopt;
  }

  std::optional<Verdict> stopped() const {
    const auto found = suspect(RankDoes::Stopped);
    if (!found) {
      return std::nullopt;
    }
    return Verdict{.cause = Cause::RankStopped,
                   .where = place_of(*found),
                   .confidence = kConfidenceOfNode,
                   .evidence = {{"it is stopped, for", found->rank->for_s, "s or longer",
                                 source_of(*found->standing)}}};
  }

  std::optional<Verdict> hanging() const {
    auto found = suspect(RankDoes::Reads);
    const bool is_read = found.has_value();
    found = is_read ? found : suspect(RankDoes::Writes);
    if (!found) {
      return std::nullopt;
    }
    const StallRank& rank = *found->rank;
    const std::string file = rank.file.empty() ? "a file" : rank.file;
    return Verdict{
        .cause = Cause::RankBlockedIo,
        .where = place_of(*found),
        .confidence = kConfidenceOfNode,
        .evidence = {{fmt::format("it waits to {} {}{}, for", is_read ? "read" : "write", file,
                                  rank.waits_in.empty() ? "" : " in " + rank.waits_in),
                      rank.for_s, "s or longer", source_of(*found->standing)}}};
  }

  const FlowData* flow_at(std::size_t node, std::int64_t row) const {
    const auto& flows = run_.nodes[node].flows;
    const auto found =
        std::ranges::find_if(flows, [&](const FlowData& each) { return each.row.id == row; });
    return found == flows.end() || row == 0 ? nullptr : &*found;
  }

  const Connection* connection_of(const Standing& standing, const FlowData& flow) const {
    for (const Connection& each : run_.connections) {
      for (const auto& end : each.ends) {
        if (end && end->node == standing.node && &run_.flow(*end) == &flow) {
          return &each;
        }
      }
    }
    return nullptr;
  }

  // Whether packets of this direction came to that end since the progress ended.
  bool has_come(const FlowPlace& end, std::size_t direction) const {
    const auto standing =
        std::ranges::find_if(all_, [&](const Standing& each) { return each.node == end.node; });
    if (standing == all_.end()) {
      return false;
    }
    return std::ranges::any_of(
        run_.flow(end).packets.at(direction), [&](const record::FlowSample& sample) {
          return sample.t_ns - sample.bin_ns > standing->stall.since_ns + kArrivalMarginNs;
        });
  }

  std::optional<Verdict> dead_path() const {
    for (const Standing& standing : all_) {
      for (const record::StallPath& path : standing.stall.paths) {
        Verdict verdict{.cause = Cause::PeerGone,
                        .where = {.from = run_.nodes[standing.node].name, .to = path.peer},
                        .confidence = kConfidenceOfRecords};
        const FlowData* flow = flow_at(standing.node, path.flow);
        const Connection* connection = flow ? connection_of(standing, *flow) : nullptr;
        if (connection != nullptr && connection->ends[0] && connection->ends[1]) {
          name_path(standing, *connection, verdict);
        }
        verdict.evidence.push_back({"packets under way, not acknowledged",
                                    static_cast<double>(path.unacked_packets), "",
                                    source_of(standing)});
        verdict.evidence.push_back({"sent again, for nothing",
                                    static_cast<double>(path.resent_packets), "packets",
                                    source_of(standing)});
        return verdict;
      }
    }
    return std::nullopt;
  }

  // What is sent is not acknowledged: it does not arrive, or the acknowledgement does not.
  void name_path(const Standing& standing, const Connection& connection, Verdict& verdict) const {
    const std::size_t here = connection.ends[0]->node == standing.node ? 0 : 1;
    const bool arrives = has_come(*connection.ends.at(1 - here), here);
    const bool comes_back = has_come(*connection.ends.at(here), 1 - here);
    verdict.cause = Cause::PathDead;
    verdict.confidence = kConfidenceOfNode;
    verdict.where.from = connection.names.at(arrives ? 1 - here : here);
    verdict.where.to = connection.names.at(arrives ? here : 1 - here);
    verdict.where.direction = !arrives && !comes_back ? "both" : "";
  }

  std::optional<Verdict> rank_gone() const {
    for (const Standing& standing : all_) {
      for (const record::Process& process : run_.nodes[standing.node].processes) {
        const auto& all = run_.nodes[standing.node].processes;
        // Helpers have their rank's number.
        const bool lives = std::ranges::any_of(all, [&](const record::Process& each) {
          return each.rank == process.rank && !each.end_ns.known();
        });
        if (process.rank.known() && !lives && process.end_ns.value() < standing.t_ns) {
          return Verdict{
              .cause = Cause::RankGone,
              .where = {.node = run_.nodes[standing.node].name, .rank = process.rank.value()},
              .confidence = kConfidenceOfRecords};
        }
      }
    }
    return std::nullopt;
  }

  // Of those in another collective than their neighbour, the one whose collective fewest are in.
  std::optional<Suspect> differing() const {
    std::map<std::string, int> count;
    for (const Standing& standing : all_) {
      for (const StallRank& rank : standing.stall.ranks) {
        count[text_of(entered(rank))] += 1;
      }
    }
    std::optional<Suspect> found;
    for (const Standing& standing : all_) {
      for (const StallRank& rank : standing.stall.ranks) {
        if (rank.does == RankDoes::Differs &&
            (!found || count[text_of(entered(rank))] < count[text_of(entered(*found->rank))])) {
          found = Suspect{.standing = &standing, .rank = &rank};
        }
      }
    }
    return found;
  }

  std::optional<Verdict> different() const {
    const auto found = differing();
    if (!found) {
      return std::nullopt;
    }
    Verdict verdict{
        .cause = Cause::Mismatch, .where = place_of(*found), .confidence = kConfidenceOfRecords};
    const StallCollective* own = entered(*found->rank);
    const StallCollective* others = waited_for(*found->rank);
    verdict.where.collective = text_of(own);
    const std::string source = source_of(*found->standing);
    std::string neighbour = "its neighbour is in " + text_of(others);
    if (own != nullptr && others != nullptr && text_of(own) == text_of(others)) {
      verdict.evidence.push_back(
          {neighbour + " with a buffer of", static_cast<double>(others->size), "bytes", source});
      verdict.evidence.push_back(
          {"its own buffer has", static_cast<double>(own->size), "bytes", source});
    } else {
      verdict.evidence.push_back({std::move(neighbour), {}, "", source});
    }
    return verdict;
  }

  std::optional<Verdict> missing() const {
    for (const Standing& standing : all_) {
      for (const StallRank& rank : standing.stall.ranks) {
        const StallCollective* collective = waited_for(rank);
        const bool is_busy = rank.does == RankDoes::Spins || rank.does == RankDoes::Moves;
        if (collective == nullptr || (!is_busy && rank.does != RankDoes::Absent)) {
          continue;
        }
        Verdict verdict{.cause = is_busy ? Cause::RankBusy : Cause::RankMissing,
                        .where = place_of({.standing = &standing, .rank = &rank}),
                        .confidence = kConfidenceOfRecords};
        verdict.where.collective = text_of(collective);
        const std::string place = rank.waits_in.empty() ? "" : " in " + rank.waits_in;
        if (is_busy) {
          verdict.evidence.push_back(
              {"it and its helpers take", rank.cpu_percent, "% of a core", source_of(standing)});
        } else {
          verdict.evidence.push_back({fmt::format("its first thread sleeps{}, for", place),
                                      rank.for_s, "s or longer", source_of(standing)});
        }
        return verdict;
      }
    }
    return std::nullopt;
  }

  std::optional<Verdict> past_limit() const {
    const auto standing = std::ranges::find_if(
        all_, [](const Standing& each) { return each.stall.state == StallState::Stands; });
    if (standing == all_.end()) {
      return std::nullopt;
    }
    constexpr double kConfidenceWithoutCause = 0.5;
    return Verdict{.where = {.node = run_.nodes[standing->node].name},
                   .confidence = kConfidenceWithoutCause};
  }

  void add_evidence(Verdict& verdict) const {
    double longest_s = 0;
    const Standing* longest = nullptr;
    std::string waiting;
    int count = 0;
    for (const Standing& standing : all_) {
      const std::int64_t until_ns = run_.nodes[standing.node].span.end_ns;
      const double for_s = static_cast<double>(until_ns - standing.stall.since_ns) / 1e9;
      if (for_s > longest_s) {
        longest_s = for_s;
        longest = &standing;
      }
      for (const StallRank& rank : standing.stall.ranks) {
        if (rank.does == RankDoes::Waits && rank.rank != verdict.where.rank) {
          waiting = waiting.empty() ? text_of(entered(rank)) : waiting;
          ++count;
        }
      }
    }
    if (longest != nullptr) {
      verdict.evidence.insert(verdict.evidence.begin(),
                              {"no step has ended for", longest_s, "s", source_of(*longest)});
    }
    // Collectives are enqueued to NCCL ahead of the one that all wait in.
    if (verdict.cause == Cause::RankMissing || verdict.cause == Cause::RankBusy) {
      waiting = verdict.where.collective;
    }
    if (count > 0) {
      verdict.evidence.push_back({"ranks that wait in " + waiting, static_cast<double>(count), "",
                                  fmt::format("events {}", record::kStall)});
    }
  }

  const RunData& run_;
  const Clocks& clocks_;
  std::vector<Standing> all_;
};

}  // namespace

std::optional<Verdict> stalled(const RunData& run, const Clocks& clocks) {
  return Judge(run, clocks).verdict();
}

std::string pause_of(const RunData& run, const Clocks& clocks) {
  return Judge(run, clocks).pause();
}

}  // namespace chokepoint::analysis
