// A thread beside the computing one that performs actions in the order in which they are handed
// over, as the communication thread of a data-parallel library does. Handed over by one thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace chokepoint::trainer {

class Exchanger {
 public:
  Exchanger();
  ~Exchanger();

  void hand_over(std::function<void()> action);
  // Until all are performed. What one of them threw is thrown here.
  void wait();

 private:
  void perform();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> actions_;  // the first one is under way
  std::exception_ptr failure_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace chokepoint::trainer
