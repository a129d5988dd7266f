#include "tests/rdma/perf/pair.h"

#include <stdexcept>

#include "base/sys/error.h"

namespace chokepoint::fakes {
namespace {

using namespace rdma;

template <class T>
T must(Result<T> result) {
  if (!result) {
    throw std::runtime_error(describe(result.error()));
  }
  if constexpr (!std::is_void_v<T>) {
    return std::move(*result);
  }
}

}  // namespace

Party::Party(FakeFabric& fabric, const std::string& name, const perf::Plan& plan)
    : library(fabric.library({name})), device(must(library->open(name))) {
  buffer = must(verbs::host_buffer(perf::bytes_needed(plan), {}));
  region = must(device->register_memory(buffer->view(), verbs::needed_for(plan.operation), false));
  endpoint = must(device->open_endpoint({.transport = plan.transport,
                                         .gid_index = 3,
                                         .queues = plan.queue_pairs,
                                         .send_depth = perf::send_depth(plan),
                                         .receive_depth = perf::receive_depth(plan),
                                         .inline_bytes = plan.inline_bytes,
                                         .events = plan.events}));
}

perf::Side Party::side(perf::Role role, const Party& peer) {
  return {.role = role,
          .endpoint = *endpoint,
          .buffer = *buffer,
          .region = *region,
          .remote = peer.region->remote(),
          .monitor = monitor,
          .peer = "peer"};
}

Pair::Pair(const perf::Plan& made, verbs::PathOptions way) : plan(made), path(way) {
  active = std::make_unique<Party>(fabric, "fake0", plan);
  passive = std::make_unique<Party>(fabric, "fake1", plan);
}

Outcomes Pair::run() {
  must(active->endpoint->connect(passive->endpoint->address(), path));
  must(passive->endpoint->connect(active->endpoint->address(), path));
  const perf::Side one = active->side(perf::Role::Active, *passive);
  const perf::Role answer = plan.both_ways ? perf::Role::Active : perf::Role::Passive;
  const perf::Side other = passive->side(answer, *active);
  must(perf::prepare(one, plan));
  must(perf::prepare(other, plan));
  fabric.set_faults("fake0", active_faults);
  fabric.set_faults("fake1", passive_faults);
  before_run();

  Outcomes outcomes{.active = fail(Error{}), .passive = fail(Error{})};
  std::thread answering([&] { outcomes.passive = perf::run(other, plan); });
  outcomes.active = perf::run(one, plan);
  if (!plan.both_ways || !outcomes.active) {
    passive->monitor.ended = true;
  }
  answering.join();
  if (outcomes.active && plan.check) {
    outcomes.mismatches = must(perf::count_mismatches(other, plan, outcomes.active->messages));
  }
  return outcomes;
}

}  // namespace chokepoint::fakes
