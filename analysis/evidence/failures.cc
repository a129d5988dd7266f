#include "analysis/evidence/failures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace chokepoint::analysis {
namespace {

using FailureKind = LogFailure::Kind;

// Judgements: of five kinds of failure of a real job over Gloo all were told right.
constexpr double kConfidenceInFailure = 0.8;
constexpr double kConfidenceInSilence = 0.7;
constexpr double kConfidenceInPeer = 0.5;

constexpr std::int64_t kTerminatedBySignal = -15;  // torchrun ends all others so

struct Told {
  const LogFailure* failure = nullptr;
  const ToolFile* file = nullptr;
};

std::string_view words_of_kind(FailureKind kind) {
  switch (kind) {
    case FailureKind::GpuFault:
      return "its GPU failed";
    case FailureKind::GpuMemory:
      return "its GPU's memory was full";
    case FailureKind::HostMemory:
      return "the host's memory was full";
    case FailureKind::Killed:
      return "it was killed or crashed";
    default:
      return "it raised an exception";
  }
}

// Whose end of a connection was lost: "10.119.24.53" of "Call to recv from 10.119.24.53<49901>
// failed", "10.0.0.2" of "Connection closed by peer [10.0.0.2]:18322".
std::string_view peer_in(std::string_view text) {
  constexpr std::array<std::string_view, 5> kBefore{"remote peer ", "from peer ", "by peer [",
                                                    "recv from ", "send to "};
  for (const std::string_view before : kBefore) {
    if (const std::size_t at = text.find(before); at != text.npos) {
      const std::string_view rest = text.substr(at + before.size());
      return rest.substr(0, rest.find_first_of("<] \t"));
    }
  }
  return {};
}

class Failures {
 public:
  explicit Failures(const std::vector<ToolFile>& all) {
    for (const ToolFile& file : all) {
      for (const LogFailure& each : file.failures) {
        add(each, file);
      }
      for (const RankEnd& end : file.ends) {
        ends_.push_back(end);
        if (end.rank >= 0) {
          world_.insert(end.rank);
        }
      }
      files_ += file.tool == Tool::JobLog ? 1 : 0;
      file_ = file.tool == Tool::JobLog && file_.empty() ? file.file : file_;
    }
  }

  std::optional<Claim> first() const {
    if (const Told own = earliest(); own.failure != nullptr) {
      return of_failure(own);
    }
    if (const RankEnd* end = ended_by_itself()) {
      return of_end(*end);
    }
    if (const auto lost = lost_peer()) {
      return lost;
    }
    if (!waited_.empty()) {
      return of_waiting();
    }
    return std::nullopt;
  }

 private:
  void add(const LogFailure& each, const ToolFile& file) {
    if (each.rank) {
      world_.insert(*each.rank);
      failed_.insert(*each.rank);
    }
    if (each.is_first()) {
      first_.push_back({.failure = &each, .file = &file});
    } else if (each.kind == FailureKind::CollectiveTimeout || each.kind == FailureKind::PeerLost) {
      waited_.push_back({.failure = &each, .file = &file});
    }
  }

  // By time where all have one, else as the files have them.
  Told earliest() const {
    if (first_.empty()) {
      return {};
    }
    const bool have_times =
        std::ranges::all_of(first_, [](const Told& each) { return each.failure->in_year_ns >= 0; });
    return have_times ? *std::ranges::min_element(
                            first_, {}, [](const Told& each) { return each.failure->in_year_ns; })
                      : first_.front();
  }

  // Neither ended by torchrun nor by an error that follows from another rank's.
  const RankEnd* ended_by_itself() const {
    const auto found = std::ranges::find_if(ends_, [&](const RankEnd& end) {
      return (end.rank >= 0 || end.local_rank >= 0) && end.exit_code != 0 &&
             end.exit_code != kTerminatedBySignal && !failed_.contains(end.rank);
    });
    return found == ends_.end() ? nullptr : &*found;
  }

  Claim model() const {
    return {.tool = Tool::JobLog,
            .about = Claim::About::Failure,
            .is_firm = true,
            .confidence = kConfidenceInFailure,
            .from = files_ > 1 ? fmt::format("{} and {} more", file_, files_ - 1) : file_};
  }

  std::size_t others(std::optional<std::int64_t> rank) const {
    return world_.size() - (rank && world_.contains(*rank) ? 1 : 0);
  }

  std::string followed(std::optional<std::int64_t> rank) const {
    const std::size_t count = others(rank);
    return count == 0 ? ""
                      : fmt::format("; {}{} rank{} ended after it", count, rank ? " other" : "",
                                    count > 1 ? "s" : "");
  }

  Claim of_failure(const Told& told) const {
    const LogFailure& failure = *told.failure;
    Claim claim = model();
    claim.rank = failure.rank;
    claim.what = fmt::format("{} failed first: {}, \"{}\" (line {}){}",
                             failure.rank ? fmt::format("rank {}", *failure.rank) : "the job",
                             words_of_kind(failure.kind), failure.text, failure.line,
                             followed(failure.rank));
    claim.from = told.file->file;
    return claim;
  }

  Claim of_end(const RankEnd& end) const {
    Claim claim = model();
    claim.rank = end.rank >= 0 ? std::optional(end.rank) : std::nullopt;
    const std::string who = end.rank >= 0 ? fmt::format("rank {}", end.rank)
                                          : fmt::format("local rank {}", end.local_rank);
    const std::string how = end.exit_code < 0 ? fmt::format("by signal {}", -end.exit_code)
                                              : fmt::format("with exit code {}", end.exit_code);
    claim.what = fmt::format("{}{} ended first, {}{}", who,
                             end.host.empty() ? "" : " on " + end.host, how, followed(claim.rank));
    return claim;
  }

  std::vector<std::int64_t> silent_ranks() const {
    std::vector<std::int64_t> silent;
    std::ranges::set_difference(world_, failed_, std::back_inserter(silent));
    return silent;
  }

  // Connections broke and nobody says why: the log of what broke them is not among these.
  std::optional<Claim> lost_peer() const {
    const bool is_all = std::ranges::all_of(
        waited_, [](const Told& each) { return each.failure->kind == FailureKind::PeerLost; });
    const auto named = std::ranges::find_if(
        waited_, [](const Told& each) { return !peer_in(each.failure->text).empty(); });
    if (!is_all || named == waited_.end() || silent_ranks().size() == 1) {
      return std::nullopt;
    }
    const LogFailure& failure = *named->failure;
    Claim claim = model();
    claim.confidence = kConfidenceInPeer;
    claim.what = fmt::format(
        "{} lost its connection to {}: what ran there ended first, or the path broke, \"{}\" (line "
        "{})",
        failure.rank ? fmt::format("rank {}", *failure.rank) : "a rank", peer_in(failure.text),
        failure.text, failure.line);
    claim.from = named->file->file;
    return claim;
  }

  // A rank of the job that tells of no failure, while all others waited for one.
  Claim of_waiting() const {
    Claim claim = model();
    claim.about = Claim::About::MissingRank;
    claim.confidence = kConfidenceInSilence;
    const std::vector<std::int64_t> silent = silent_ranks();
    const LogFailure& first = *waited_.front().failure;
    claim.is_firm = silent.size() == 1;
    if (silent.size() == 1) {
      claim.rank = silent.front();
      claim.what =
          fmt::format("{} ranks waited for others in vain, and rank {} reports nothing: \"{}\"",
                      failed_.size(), silent.front(), first.text);
    } else {
      claim.about = Claim::About::NoneMissing;
      claim.what =
          fmt::format("{} ranks waited for others in vain: \"{}\"", failed_.size(), first.text);
    }
    return claim;
  }

  std::vector<Told> first_;
  std::vector<Told> waited_;
  std::vector<RankEnd> ends_;
  std::set<std::int64_t> world_;
  std::set<std::int64_t> failed_;  // with a line of their own
  std::size_t files_ = 0;
  std::string file_;
};

}  // namespace

std::vector<Claim> claims_of_failures(const std::vector<ToolFile>& all) {
  const auto first = Failures(all).first();
  return first ? std::vector{*first} : std::vector<Claim>{};
}

}  // namespace chokepoint::analysis
