#include "rdma/perf/bandwidth.h"

#include "rdma/perf/catch.h"
#include "rdma/perf/stream.h"
#include "rdma/verbs/visit.h"

namespace chokepoint::rdma::perf {

Result<Outcome> stream(const Side& side, const Plan& plan, const Layout& layout,
                       Verifier* verifier) {
  return verbs::visit_endpoint(side.endpoint, [&](auto& endpoint) {
    return Stream(endpoint, side, plan, layout, verifier).run();
  });
}

Result<Outcome> catch_all(const Side& side, const Plan& plan, const Layout& layout,
                          Verifier* verifier) {
  return verbs::visit_endpoint(side.endpoint, [&](auto& endpoint) {
    return BandwidthReceiver(endpoint, side, plan, layout, verifier).run();
  });
}

}  // namespace chokepoint::rdma::perf
