// Rows for the flows that packets show while a job is watched: the job's share theirs with its
// sockets; a stranger's gets one only where it is large enough to be in the job's way. One
// analyser's thread; the book outlives it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "capture/book/flow_book.h"
#include "capture/observer/row_keeper.h"
#include "capture/run/job_flows.h"

namespace chokepoint::capture::run {

class JobRows final : public observer::RowKeeper {
 public:
  JobRows(book::FlowBook& book, JobFlows flows) : book_(book), flows_(std::move(flows)) {}

  observer::RowPlace place(std::uint32_t slot, const flow::FlowFacts& facts,
                           record::Flow row) override;
  void update(std::uint32_t slot, const observer::RowPlace& place, record::Flow row) override;
  void leave(std::uint32_t slot) override;
  bool is_worth_asking(std::uint32_t slot) override;

 private:
  struct State {
    book::EntryPointer entry = {};
    std::uint64_t asked_version = UINT64_MAX;  // of the book
    std::uint32_t passed_over = 0;
  };

  State& state_of(std::uint32_t slot);

  book::FlowBook& book_;
  JobFlows flows_;
  std::vector<State> states_;
  std::uint64_t keys_ = 0;
};

}  // namespace chokepoint::capture::run
