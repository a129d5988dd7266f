// How much memory the details of all flows take together. Each detail adds what it grows by, and
// returns it when it is destroyed; above the limit the engine folds old flows. One thread.
#pragma once

#include <cstddef>
#include <memory>

namespace chokepoint::capture::flow {

struct Budget {
  std::size_t used = 0;
};

// A share of the budget, returned with its owner.
class Share {
 public:
  explicit Share(Budget& budget) : budget_(&budget) {}
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;
  ~Share() { budget_->used -= bytes_; }

  void grow(std::size_t bytes) {
    bytes_ += bytes;
    budget_->used += bytes;
  }

 private:
  Budget* budget_;
  std::size_t bytes_ = 0;
};

template <class Detail>
[[gnu::noinline]] void make_detail(std::unique_ptr<Detail>& detail, Budget& budget) {
  detail = std::make_unique<Detail>(budget);
}

// Makes a detail of a half when it is first needed. Called several times a packet: only the test
// is compiled into the caller.
template <class Detail>
Detail& made(std::unique_ptr<Detail>& detail, Budget& budget) {
  if (!detail) [[unlikely]] {
    make_detail(detail, budget);
  }
  return *detail;
}

}  // namespace chokepoint::capture::flow
