#include "probe/collective/rendezvous/hub.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>

namespace chokepoint::probe::collective {
namespace {

// How often a wait calls StillWanted.
constexpr std::chrono::milliseconds kCheckInterval{50};
constexpr std::size_t kMaxListed = 8;

Error with_rank(const Failure& failure, const std::map<int, JoiningRank>& members) {
  Error error = failure.error;
  if (!failure.rank) {
    return error;
  }
  const auto member = members.find(*failure.rank);
  const std::string who =
      member == members.end() ? fmt::format("rank {}", *failure.rank) : name_of(member->second);
  const bool both = !error.operation.empty() && !error.subject.empty();
  error.subject = error.operation + (both ? ": " : "") + error.subject;
  error.operation = who;
  return error;
}

}  // namespace

std::string list_of(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  const std::size_t named = ranks.size() > kMaxListed + 1 ? kMaxListed : ranks.size();
  for (std::size_t i = 0; i < named; ++i) {
    const bool last = i + 1 == ranks.size();
    text += fmt::format("{}{}", i == 0 ? " " : last ? " and " : ", ", ranks[i]);
  }
  return named < ranks.size() ? text + fmt::format(" and {} more", ranks.size() - named) : text;
}

std::string name_of(const JoiningRank& member) {
  return fmt::format("rank {} on {}", member.rank, member.host);
}

Hub::Hub(std::string job, int ranks)
    : job_(std::move(job)), ranks_(ranks), alarm_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Hub::ring() {
  const std::uint64_t one = 1;
  std::ignore = write(alarm_.get(), &one, sizeof(one));
  changed_.notify_all();
}

Result<> Hub::enter(const JoiningRank& rank_to_join) {
  const std::lock_guard lock(mutex_);
  const auto refuse = [](ErrorKind kind, const std::string& why, const std::string& next = "") {
    return chokepoint::fail(kind, "", "", why, next);
  };
  if (rank_to_join.job != job_ || rank_to_join.ranks != ranks_) {
    return refuse(ErrorKind::NotFound, fmt::format("another job of {} ranks meets here", ranks_));
  }
  // Two jobs without a name of their own look the same: the rank_to_join's meets elsewhere.
  if (members_.size() == static_cast<std::size_t>(ranks_)) {
    return refuse(ErrorKind::NotFound, fmt::format("all {} ranks have come already", ranks_));
  }
  if (rank_to_join.rank < 0 || rank_to_join.rank >= ranks_) {
    return refuse(ErrorKind::Usage,
                  fmt::format("there is no rank {} of {}", rank_to_join.rank, ranks_));
  }
  const auto there = members_.find(rank_to_join.rank);
  if (there != members_.end()) {
    return refuse(ErrorKind::Busy, fmt::format("{} is there already", name_of(there->second)),
                  "does each process have a RANK of its own?");
  }
  const auto other = std::ranges::find_if(
      members_, [&](const auto& each) { return each.second.program != rank_to_join.program; });
  if (other != members_.end()) {
    return refuse(ErrorKind::Unsupported,
                  fmt::format("{} runs {}, this rank {}", name_of(other->second),
                              other->second.program, rank_to_join.program),
                  "run the same version of chokepoint everywhere");
  }
  members_.emplace(rank_to_join.rank, rank_to_join);
  changed_.notify_all();
  return {};
}

void Hub::leave(int rank, bool done) {
  if (done) {
    const std::lock_guard lock(mutex_);
    gone_.insert(rank);
    changed_.notify_all();
    return;
  }
  fail({.rank = rank,
        .error = {ErrorKind::Io, "", "", 0, "ended without a word"},
        .source = FailureSource::ConnectionLost});
}

void Hub::fail(Failure failure) {
  const std::lock_guard lock(mutex_);
  // After finish() ranks may leave; and a rank that reported its failure closes its connection
  // next.
  const bool known = std::ranges::any_of(failures_, [&](const Failure& each) {
    return each.rank && each.rank == failure.rank && each.source == FailureSource::Reported;
  });
  if (!finished_ && !known) {
    failures_.push_back(std::move(failure));
    ring();
  }
}

void Hub::finish() {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  ring();
}

std::optional<Error> Hub::cause() const {
  if (failures_.empty()) {
    return std::nullopt;
  }
  return with_rank(*std::ranges::max_element(failures_, {}, &Failure::source), members_);
}

std::optional<Error> Hub::failure() const {
  const std::lock_guard lock(mutex_);
  return cause();
}

std::vector<JoiningRank> Hub::members() const {
  const std::lock_guard lock(mutex_);
  std::vector<JoiningRank> list;
  for (const auto& [rank, member] : members_) {
    list.push_back(member);
  }
  return list;
}

bool Hub::has(int rank) const {
  const std::lock_guard lock(mutex_);
  return members_.contains(rank);
}

std::string Hub::missing() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (!members_.contains(rank)) {
      ranks.push_back(rank);
    }
  }
  return list_of(ranks);
}

template <class Condition>
Result<> Hub::wait_until(std::unique_lock<std::mutex>& lock, Clock::time_point deadline,
                         const StillWanted& wanted, Condition condition) {
  while (!condition()) {
    if (const std::optional<Error> failed = cause()) {
      return chokepoint::fail(*failed);
    }
    if (finished_) {
      return chokepoint::fail(ErrorKind::Interrupted, "wait", "", "the job was ended");
    }
    if (Clock::now() >= deadline) {
      return chokepoint::fail(ErrorKind::Timeout, "wait", "", "nothing came in time");
    }
    changed_.wait_until(lock, std::min(deadline, Clock::now() + kCheckInterval));
    if (wanted) {
      lock.unlock();
      const Result<> still = wanted();
      lock.lock();
      if (!still) {
        return still;
      }
    }
  }
  return {};
}

Result<> Hub::await_all(Clock::time_point deadline, const StillWanted& wanted) {
  const auto begun = Clock::now();
  std::unique_lock lock(mutex_);
  const auto complete = [&] { return members_.size() == static_cast<std::size_t>(ranks_); };
  Result<> waited = wait_until(lock, deadline, wanted, complete);
  if (!waited && waited.error().kind == ErrorKind::Timeout && Clock::now() >= deadline) {
    const auto seconds = std::chrono::round<std::chrono::seconds>(Clock::now() - begun).count();
    return chokepoint::fail(
        ErrorKind::Timeout, "", fmt::format("{} of {}", missing(), ranks_),
        fmt::format("did not come within {} s", seconds),
        "are they started, and do they reach this host? --timeout waits longer");
  }
  return waited;
}

Result<> Hub::await_gone(Clock::time_point deadline, const StillWanted& wanted) {
  std::unique_lock lock(mutex_);
  return wait_until(lock, deadline, wanted,
                    [&] { return gone_.size() == static_cast<std::size_t>(ranks_); });
}

Result<> Hub::set(const std::string& key, const std::string& value) {
  const std::lock_guard lock(mutex_);
  const auto old = values_.find(key);
  const std::size_t freed = old == values_.end() ? 0 : key.size() + old->second.size();
  if (key.size() > kMaxKeyLength || value.size() > kMaxValueLength ||
      bytes_ - freed + key.size() + value.size() > kMaxBytes) {
    return chokepoint::fail(ErrorKind::Exhausted, "store", key.substr(0, kMaxKeyLength),
                            "too large for what ranks tell each other");
  }
  bytes_ += key.size() + value.size() - freed;
  values_[key] = value;
  changed_.notify_all();
  return {};
}

Result<> Hub::wait_for(std::unique_lock<std::mutex>& lock, const std::string& key,
                       Clock::time_point deadline, const StillWanted& wanted) {
  Result<> waited = wait_until(lock, deadline, wanted, [&] { return values_.contains(key); });
  if (!waited && waited.error().kind == ErrorKind::Timeout && waited.error().subject.empty()) {
    waited.error().subject = key.substr(0, kMaxKeyLength);
  }
  return waited;
}

Result<std::string> Hub::get(const std::string& key, Clock::time_point deadline,
                             const StillWanted& wanted) {
  std::unique_lock lock(mutex_);
  const Result<> waited = wait_for(lock, key, deadline, wanted);
  return waited ? Result<std::string>(values_.at(key)) : std::unexpected(waited.error());
}

Result<std::string> Hub::take(const std::string& key, Clock::time_point deadline,
                              const StillWanted& wanted) {
  std::unique_lock lock(mutex_);
  TRY(wait_for(lock, key, deadline, wanted));
  auto node = values_.extract(key);
  bytes_ -= node.key().size() + node.mapped().size();
  return std::move(node.mapped());
}

}  // namespace chokepoint::probe::collective
