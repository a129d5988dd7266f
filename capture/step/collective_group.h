// The collectives of one process group, as one rank takes part in them, and the steps that their
// cycle makes. Bounded memory. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/record/samples.h"
#include "capture/step/cycle_search.h"
#include "capture/step/step.h"

namespace chokepoint::capture::step {

class CollectiveGroup {
 public:
  // Nearly in the order in which they began.
  void add(const record::Collective& collective);
  // Looks for the cycle anew.
  void look();
  // Steps that are over: up to the newest few collectives, before which others may still come;
  // `to_end`: up to the last.
  void walk(bool to_end, const OnStep& on_step);

  bool has_cycle() const { return cycle_.has_value(); }
  std::int64_t period_ns() const { return cycle_ ? cycle_->period_ns : 0; }
  double bytes() const { return bytes_; }
  // Far more have come than a cycle has since a step last began.
  bool is_lost() const;

 private:
  struct Part {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::size_t collectives = 0;
  };

  bool begins_step(const CycleItem& item) const;
  void begin_step(std::int64_t start_ns, const OnStep& on_step);
  void take(const Part& part, const OnStep& on_step);
  void tell(const Part& part, const OnStep& on_step);
  void tell_doubtful(const OnStep& on_step);
  double cycles_in(const Part& part) const;
  bool is_whole(const Part& part) const;
  void forget();

  std::deque<CycleItem> items_;
  std::size_t walked_ = 0;  // of them
  double bytes_ = 0;
  std::optional<Cycle> cycle_;
  SizeClasses classes_;
  std::vector<std::uint64_t> rare_;
  std::int64_t busy_until_ns_ = 0;
  std::int64_t begun_ns_ = 0;     // the step; 0: none
  std::size_t since_ = 0;         // collectives in it
  std::optional<Part> doubtful_;  // is part of a step, or lacks some
  std::int64_t count_ = 0;
};

}  // namespace chokepoint::capture::step
