#include "scripts/train/trainer/exchanger.h"

#include <utility>

namespace chokepoint::trainer {

Exchanger::Exchanger() : thread_([this] { perform(); }) {}

Exchanger::~Exchanger() {
  {
    const std::scoped_lock lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Exchanger::hand_over(std::function<void()> action) {
  {
    const std::scoped_lock lock(mutex_);
    actions_.push_back(std::move(action));
  }
  changed_.notify_all();
}

void Exchanger::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return actions_.empty() || failure_; });
  if (failure_) {
    std::rethrow_exception(failure_);
  }
}

void Exchanger::perform() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_over_ || !actions_.empty(); });
    if (is_over_ || failure_) {
      return;
    }
    const auto& action = actions_.front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      action();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    actions_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace chokepoint::trainer
