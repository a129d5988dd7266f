// Leads all ranks through the sizes: says what to do next, waits until everybody has done it, and
// keeps what they measured. How many iterations make up a size's time is decided as it goes, for
// all ranks alike. One thread; the hub outlives it.
#pragma once

#include <functional>

#include "probe/collective/conduct/outcome.h"
#include "probe/collective/order.h"

namespace chokepoint::probe::collective {

struct ConductorOptions {
  std::chrono::seconds timeout{60};
  Hub::StillWanted wanted = {};  // its error ends the job
  std::function<void(const SizeResult&)> on_size = {};
};

class Conductor {
 public:
  Conductor(Hub& hub, Plan plan, ConductorOptions options)
      : hub_(hub), plan_(std::move(plan)), options_(std::move(options)) {}

  // All ranks are there. What has been measured stands in `outcome` even where this fails.
  Result<> run(Outcome& outcome);

 private:
  using Answers = std::vector<Answer>;

  Result<> lead(Outcome& outcome) const;
  Result<Answers> answers(std::chrono::nanoseconds expected) const;
  Result<Answers> all_do(const Order& order, std::chrono::nanoseconds expected) const;
  Result<> ask_ways(Outcome& outcome) const;
  Result<> measure(std::uint64_t bytes, Outcome& outcome) const;
  Result<double> first_us(SizeResult& size) const;
  Result<> iterate(SizeResult& size, double estimate_us) const;
  int next_batch(const SizeResult& size, double spent_us, double estimate_us) const;

  Hub& hub_;
  Plan plan_;
  ConductorOptions options_;
};

}  // namespace chokepoint::probe::collective
