// Work that may hang (a name server, a driver that wakes its devices) done on a thread of its own,
// so that its caller waits no longer than it wants to. Late work continues, and its result is
// thrown away; what it needs must therefore be owned by it.
#pragma once

#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <utility>

namespace chokepoint::sys {

template <class T>
class Late {
 public:
  template <class Work>
  explicit Late(Work work) {
    std::packaged_task<T()> task(std::move(work));
    result_ = task.get_future();
    std::thread(std::move(task)).detach();
  }

  // Nothing where it is not done by then; it may be asked again, until it has given its result.
  std::optional<T> by(std::chrono::steady_clock::time_point deadline) {
    if (result_.wait_until(deadline) != std::future_status::ready) {
      return std::nullopt;
    }
    return result_.get();
  }

 private:
  std::future<T> result_;
};

}  // namespace chokepoint::sys
