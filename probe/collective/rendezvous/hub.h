// Where the ranks of a job meet: which ranks have joined, the values that they exchange, and which
// failed. The first failure wakes all that wait, so that no rank waits for one that is gone.
//
//   a session each rank ──► enter, set, wait, leave, fail ─┐
//                                                           ├─ Hub ─► alarm(): failed or finished
//   the conductor ────────► await_all, set, wait, finish ──┘
//
// Keys, values and their sum are bounded. Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::probe::collective {

// A process that joins as a rank.
struct JoiningRank {
  std::string job = {};
  int rank = 0;
  int ranks = 1;
  std::string host = {};
  std::string program = {};

  bool operator==(const JoiningRank&) const = default;
};

// "rank 2", "ranks 2 and 5", "ranks 0, 1, 2 and 60 more"
std::string list_of(const std::vector<int>& ranks);
// "rank 2 on hubble"
std::string name_of(const JoiningRank& member);

// How a failure became known. Of several failures that of the last kind is the cause: what ranks
// report may only be its effects.
enum class FailureSource { Reported, ConnectionLost, ProcessEnded };

struct Failure {
  std::optional<int> rank = {};  // nullopt: not of a rank
  Error error = {};
  FailureSource source = FailureSource::Reported;
};

class Hub {
 public:
  using Clock = std::chrono::steady_clock;
  // Called now and then during a wait; its error ends it.
  using StillWanted = std::function<Result<>()>;

  static constexpr std::size_t kMaxKeyLength = 256;
  static constexpr std::size_t kMaxValueLength = std::size_t{1} << 19;
  static constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

  Hub(std::string job, int ranks);

  int ranks() const { return ranks_; }
  // Readable once a rank has failed, or finish() was called.
  int alarm() const { return alarm_.get(); }

  // An error: another job (of kind NotFound), another version, a rank that has joined already.
  Result<> enter(const JoiningRank& rank_to_join);
  // `done`: it sent Bye. A rank that leaves without has failed.
  void leave(int rank, bool done);
  void fail(Failure failure);
  void finish();

  // Until every rank has sent Bye and left.
  Result<> await_gone(Clock::time_point deadline, const StillWanted& wanted);
  // Until every rank has joined; the error names those that have not.
  Result<> await_all(Clock::time_point deadline, const StillWanted& wanted);
  // Those that have joined, by rank.
  std::vector<JoiningRank> members() const;
  bool has(int rank) const;
  // The most likely cause.
  std::optional<Error> failure() const;

  Result<> set(const std::string& key, const std::string& value);
  Result<std::string> get(const std::string& key, Clock::time_point deadline,
                          const StillWanted& wanted);
  Result<std::string> take(const std::string& key, Clock::time_point deadline,
                           const StillWanted& wanted);

 private:
  template <class Condition>
  Result<> wait_until(std::unique_lock<std::mutex>& lock, Clock::time_point deadline,
                      const StillWanted& wanted, Condition condition);
  Result<> wait_for(std::unique_lock<std::mutex>& lock, const std::string& key,
                    Clock::time_point deadline, const StillWanted& wanted);
  std::optional<Error> cause() const;
  std::string missing() const;
  void ring();

  const std::string job_;
  const int ranks_;
  sys::Descriptor alarm_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, JoiningRank> members_;
  std::set<int> gone_;
  std::map<std::string, std::string> values_;
  std::size_t bytes_ = 0;
  std::vector<Failure> failures_;
  bool finished_ = false;
};

}  // namespace chokepoint::probe::collective
