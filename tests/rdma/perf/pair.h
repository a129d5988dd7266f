// Two sides of a test on the fabric, each on a thread of its own, as two hosts would run them.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "rdma/perf/test.h"
#include "rdma/verbs/buffer.h"
#include "tests/rdma/fakes/fabric.h"

namespace chokepoint::fakes {

// Goes on until it is told something else; counts how often it was asked.
class SetAttention final : public rdma::perf::TestMonitor {
 public:
  Result<bool> go_on() override {
    ++asked;
    if (fails) {
      return fail(ErrorKind::Interrupted, "test", "", "interrupted");
    }
    return !ended && (ends_after == 0 || asked < ends_after) && !(ends_when && ends_when());
  }

  std::atomic<bool> ended = false;
  std::atomic<bool> fails = false;
  std::atomic<int> asked = 0;
  int ends_after = 0;
  std::function<bool()> ends_when = {};
};

struct Party {
  Party(FakeFabric& fabric, const std::string& device, const rdma::perf::Plan& plan);

  rdma::perf::Side side(rdma::perf::Role role, const Party& peer);

  std::unique_ptr<rdma::verbs::Library> library;
  std::unique_ptr<rdma::verbs::Device> device;
  std::unique_ptr<rdma::verbs::Buffer> buffer;
  std::unique_ptr<rdma::verbs::Region> region;
  std::unique_ptr<rdma::verbs::Endpoint> endpoint;
  SetAttention monitor;
};

struct Outcomes {
  Result<rdma::perf::Outcome> active;
  Result<rdma::perf::Outcome> passive;
  std::uint64_t mismatches = 0;  // that the passive side counted afterwards
};

// Connects two parties, runs the plan and ends the passive side when the active one is done.
class Pair {
 public:
  explicit Pair(const rdma::perf::Plan& plan, rdma::verbs::PathOptions path = {});
  Outcomes run();

  FakeFabric fabric;
  rdma::perf::Plan plan;
  rdma::verbs::PathOptions path;
  std::unique_ptr<Party> active;
  std::unique_ptr<Party> passive;
  FakeFaults active_faults;  // from the first message on
  FakeFaults passive_faults;
  // Called after preparation, before both run.
  std::function<void()> before_run = [] {};
};

}  // namespace chokepoint::fakes
