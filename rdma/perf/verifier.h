// Holds what came against what was sent, for those who ask for it (--check). Messages of a queue
// pair come in order; over RC none is missing, over UC and UD some may be. One thread.
#pragma once

#include <vector>

#include "rdma/perf/content.h"
#include "rdma/perf/layout.h"
#include "rdma/perf/plan.h"
#include "rdma/verbs/endpoint.h"

namespace chokepoint::rdma::perf {

class Verifier {
 public:
  Verifier(memory::Buffer& buffer, const Plan& plan, const Layout& layout);

  // The active side, before a message with this number goes and after it completed.
  Result<> before(std::size_t place, MessageNumber number);
  Result<> after(std::size_t place, MessageNumber number);
  // The passive side, of what was sent or written with an immediate value.
  Result<> received(const verbs::Completion& completion);
  // The passive side, at the end: `sequences` messages of each queue pair.
  Result<> finish(std::uint64_t sequences);

  std::uint64_t mismatches() const { return mismatches_; }

 private:
  Result<> came(std::uint64_t offset, MessageNumber first, std::uint64_t step);
  Result<> finish_target(int queue, std::size_t place, std::uint64_t sequences);
  Result<> finish_counter(int queue, std::uint64_t sequences);
  void judge(bool well) { mismatches_ += well ? 0 : 1; }

  Content content_;
  Plan plan_;
  Layout layout_;
  std::vector<std::uint64_t> next_;  // the number expected on a queue pair
  std::uint64_t mismatches_ = 0;
};

}  // namespace chokepoint::rdma::perf
