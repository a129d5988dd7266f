// Where the ranks of a job meet: who has come, what they tell each other, and who failed. The first
// failure wakes everybody who waits, so that nobody hangs on a rank that is gone.
//
//   a session each rank ──► enter, set, wait, leave, fail ─┐
//                                                           ├─ Hub ─► alarm(): failed or finished
//   the conductor ────────► await_all, set, wait, finish ──┘
//
// Bounded: keys, values and their sum. Any thread.
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

// Who says to be a rank.
struct Newcomer {
  std::string job = {};
  int rank = 0;
  int ranks = 1;
  std::string host = {};
  std::string program = {};

  bool operator==(const Newcomer&) const = default;
};

// "rank 2", "ranks 2 and 5", "ranks 0, 1, 2 and 60 more"
std::string list_of(const std::vector<int>& ranks);
// "rank 2 on hubble"
std::string name_of(const Newcomer& member);

// How it was learnt of. Of several failures the last kind tells the cause: what ranks say of each
// other may only be its effects.
enum class Learnt { Said, Vanished, Seen };

struct Failure {
  std::optional<int> rank = {};  // nothing: not one of a rank
  Error error = {};
  Learnt how = Learnt::Said;
};

class Hub {
 public:
  using Clock = std::chrono::steady_clock;
  // Asked now and then while somebody waits; its error ends the wait.
  using StillWanted = std::function<Result<>()>;

  static constexpr std::size_t kLongestKey = 256;
  static constexpr std::size_t kLongestValue = std::size_t{1} << 19;
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;

  Hub(std::string job, int ranks);

  int ranks() const { return ranks_; }
  // Readable once a rank has failed, or all is done.
  int alarm() const { return alarm_.get(); }

  // Refused: another job (of kind NotFound), another version, a rank that is there already.
  Result<> enter(const Newcomer& newcomer);
  // `done`: it said so. A rank that just goes has failed.
  void leave(int rank, bool done);
  void fail(Failure failure);
  void finish();

  // Until every rank has gone, and said so.
  Result<> await_gone(Clock::time_point deadline, const StillWanted& wanted);
  // Until every rank has come; the error names those that have not.
  Result<> await_all(Clock::time_point deadline, const StillWanted& wanted);
  // By rank; those that have come.
  std::vector<Newcomer> members() const;
  bool has(int rank) const;
  // The one that most likely is the cause.
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
  std::map<int, Newcomer> members_;
  std::set<int> gone_;
  std::map<std::string, std::string> values_;
  std::size_t bytes_ = 0;
  std::vector<Failure> failures_;
  bool finished_ = false;
};

}  // namespace chokepoint::probe::collective
