// Hand-over between threads: ThreadTasks lets one thread run work on another, Relay passes items
// from one thread to several.
#pragma once

#include <atomic>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace chokepoint::capture::observer {

// Work that one thread requests and another does between two batches: so the live table reads an
// analyser's flows without a lock per packet. One requesting thread at a time.
class ThreadTasks {
 public:
  using Work = std::function<void()>;

  // Waits until it is done. False if the other thread did not do it in time: then it is withdrawn.
  bool ask(const Work& work, std::chrono::milliseconds deadline) {
    std::unique_lock lock(mutex_);
    work_ = &work;
    is_asked_ = true;
    const bool is_done = done_.wait_for(lock, deadline, [&] { return work_ == nullptr; });
    work_ = nullptr;
    is_asked_ = false;
    return is_done;
  }

  // Called by the other thread; nearly free if nothing is requested.
  void run() {
    if (is_asked_.load(std::memory_order_relaxed)) {
      run_asked();
    }
  }

 private:
  void run_asked() {
    const std::lock_guard lock(mutex_);
    if (work_ != nullptr) {
      (*work_)();
      work_ = nullptr;
      is_asked_ = false;
      done_.notify_one();
    }
  }

  std::atomic<bool> is_asked_ = false;
  std::mutex mutex_;  // work_
  std::condition_variable done_;
  const Work* work_ = nullptr;
};

// Passes items from one thread to several others without copying: a ring of items that are made
// once. The giver fills the next free item and gives it; every taker sees every item, in order, and
// releases it. An item is filled again after the last taker has released it.
//
//   giver   fill() ─ … ─ give() ─ fill() ─ … ─ give() ─ … ─ close()
//   takers       next() ─ … ─ release() ─ next() ─ …         next() is null
//
// A thread without work sleeps in the kernel; one with work makes no system call except to wake a
// sleeper. One giver thread, and one thread per taker.
template <class Item>
class Relay {
 public:
  Relay(std::uint32_t items, std::size_t takers)
      : items_(std::bit_ceil(items)),
        takers_(std::make_unique<Taker[]>(takers)),
        taker_count_(takers) {}

  // Waits until the oldest item is free.
  Item& fill() {
    for (std::size_t taker = 0; taker < taker_count_; ++taker) {
      wait_for_room(takers_[taker].released);
    }
    return at(given_count_);
  }

  void give() {
    ++given_count_;
    given_.store(given_count_, std::memory_order_release);
    given_.notify_all();
  }

  // After the last item.
  void close() {
    end_ = given_count_;
    closed_.store(true, std::memory_order_release);
    give();
  }

  // Waits for the next item; null once all were taken and there will be no more.
  Item* next(std::size_t taker) {
    const std::uint32_t taken = takers_[taker].taken;
    given_.wait(taken, std::memory_order_acquire);
    const bool is_over = closed_.load(std::memory_order_acquire) && taken == end_;
    return is_over ? nullptr : &at(taken);
  }

  void release(std::size_t taker) {
    Taker& self = takers_[taker];
    self.released.store(++self.taken, std::memory_order_release);
    self.released.notify_one();
  }

 private:
  static constexpr std::size_t kCacheLine = 64;

  struct alignas(kCacheLine) Taker {
    std::atomic<std::uint32_t> released = 0;
    std::uint32_t taken = 0;  // equal, for the taker's own thread
  };

  // Counts wrap around after 2^32 items; the number of places is a power of two, so places still
  // match.
  Item& at(std::uint32_t count) { return items_[count & (items_.size() - 1)]; }

  void wait_for_room(const std::atomic<std::uint32_t>& released) const {
    for (std::uint32_t done = released.load(std::memory_order_acquire);
         given_count_ - done >= items_.size(); done = released.load(std::memory_order_acquire)) {
      released.wait(done, std::memory_order_acquire);
    }
  }

  std::vector<Item> items_;
  std::unique_ptr<Taker[]> takers_;
  std::size_t taker_count_;
  std::uint32_t given_count_ = 0;  // the giver's
  std::uint32_t end_ = 0;          // of all, once closed
  alignas(kCacheLine) std::atomic<std::uint32_t> given_ = 0;
  std::atomic<bool> closed_ = false;
};

}  // namespace chokepoint::capture::observer
