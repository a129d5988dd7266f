#include "base/sys/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/sys/thread.h"

namespace chokepoint::sys {

void for_each_in_parallel(const char* name, std::size_t count,
                          const std::function<void(std::size_t)>& work, std::size_t most_threads) {
  std::atomic<std::size_t> next = 0;
  const auto take_turns = [&] {
    for (std::size_t at = next++; at < count; at = next++) {
      work(at);
    }
  };
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> others;
  for (std::size_t thread = 1; thread < std::min({cores, count, most_threads}); ++thread) {
    if (Result<std::thread> other = start_thread(name, take_turns)) {
      others.push_back(*std::move(other));
    }
  }
  take_turns();
  std::ranges::for_each(others, &std::thread::join);
}

}  // namespace chokepoint::sys
