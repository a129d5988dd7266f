// What a peer of an RDMA test says: whatever the JSON, values within their bounds or an error, and
// two sides that negotiate without a crash.
#include <cstdlib>

#include "rdma/fabric/counters.h"
#include "rdma/session/negotiate.h"
#include "rdma/session/parameters.h"
#include "rdma/session/round.h"
#include "rdma/session/side.h"

namespace {

using namespace chokepoint::rdma::session;
using chokepoint::control::Json;

void negotiate_all(const Parameters& parameters, const SideFacts& side) {
  if (!check(parameters)) return;
  const SideFacts own{.device = "fuzz", .active_mtu_bytes = 4096, .limits = {.depth = 1024}};
  for (const auto& agreement :
       {negotiate(parameters, side, own, {}), negotiate(parameters, own, side, {}),
        negotiate(parameters, side, side, {})}) {
    if (!agreement) continue;
    if (agreement->rounds.empty()) std::abort();
    std::ignore = path_of(parameters, *agreement, side, own);
    std::ignore = memory_for(*agreement, {});
  }
}

void understand(const Json& body) {
  const auto parameters = parameters_in(body);
  if (parameters && !parameters_in(body_of(*parameters))) std::abort();
  const auto at = body.find("side");
  const auto side = side_in(at == body.end() ? body : *at);
  if (side && !side_in(body_of(*side))) std::abort();
  if (parameters && side) negotiate_all(*parameters, *side);
  for (const int queue_pairs : {1, 2, 100}) {
    const auto where = side_addresses_in(body, queue_pairs);
    if (where && !side_addresses_in(body_of(*where), queue_pairs)) std::abort();
    std::ignore = opening_in(body, 0, {.queue_pairs = queue_pairs});
  }
  const auto half = side_result_in(body);
  if (half && !side_result_in(body_of(*half))) std::abort();
  const auto door = cm_peer_in(body);
  if (door && !cm_peer_in(body_of(*door))) std::abort();
  std::ignore = chokepoint::rdma::fabric::changes_in(body);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const Json body = Json::parse(data, data + size, nullptr, false);
  if (body.is_object()) understand(body);
  return 0;
}
