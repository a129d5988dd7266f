// How much memory the details of all flows take together. Each detail adds what it grows by and
// takes it off when it goes; the engine folds old flows away when there is too much. One thread.
#pragma once

#include <cstddef>

namespace chokepoint::capture::flow {

struct Budget {
  std::size_t used = 0;
};

// A share of the budget that is given back with its owner.
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

}  // namespace chokepoint::capture::flow
