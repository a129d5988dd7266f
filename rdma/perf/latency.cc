#include "rdma/perf/latency.h"

#include "rdma/perf/conversation.h"
#include "rdma/perf/ear.h"
#include "rdma/perf/round_trip.h"
#include "rdma/perf/watch.h"
#include "rdma/verbs/visit.h"

namespace chokepoint::rdma::perf {
namespace {

using verbs::Operation;

template <class Endpoint, class PongReceiver>
Result<Outcome> converse(Endpoint& endpoint, const Side& side, const Plan& plan,
                         const Layout& layout, PongReceiver ear) {
  Conversation<Endpoint, PongReceiver> conversation(endpoint, side, plan, layout, std::move(ear));
  return side.role == Role::Active ? conversation.ping() : conversation.pong();
}

Result<Outcome> ask(const Side& side, const Plan& plan, const Layout& layout) {
  if (side.role == Role::Passive) {
    return watch(side.attention);
  }
  return verbs::visit_endpoint(
      side.endpoint, [&](auto& endpoint) { return RoundTrip(endpoint, side, plan, layout).run(); });
}

}  // namespace

Result<> check_latency(const Side& side, const Plan& plan) {
  if (plan.operation != Operation::Write) {
    return {};
  }
  if (side.buffer.host() == nullptr || plan.events || plan.message_bytes == 0) {
    return fail(ErrorKind::Unsupported, "latency of writes", side.buffer.describe(),
                "the processor has to see the last byte change",
                "write with immediate value or send instead");
  }
  return {};
}

Result<Outcome> run_latency(const Side& side, const Plan& plan) {
  const Layout layout = layout_of(plan);
  if (plan.operation == Operation::Read || is_atomic(plan.operation)) {
    return ask(side, plan, layout);
  }
  return verbs::visit_endpoint(side.endpoint, [&]<class Endpoint>(Endpoint& endpoint) {
    if (plan.operation == Operation::Write) {
      return converse(endpoint, side, plan, layout, MemoryEar(side, layout));
    }
    return converse(endpoint, side, plan, layout,
                    MessageEar<Endpoint>(endpoint, side, plan, layout));
  });
}

}  // namespace chokepoint::rdma::perf
