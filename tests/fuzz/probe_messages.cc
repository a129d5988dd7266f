// What the two ends of a probe say of their test over udp, quic, rpc, latency, path, paths and
// collective: whatever the JSON, values within their bounds or an error, and what was read is
// written so that it can be read again.
#include <cstdlib>

#include "probe/collective/launch/rank_service.h"
#include "probe/collective/rendezvous/meeting.h"
#include "probe/latency/responder.h"
#include "probe/latency/test.h"
#include "probe/path/exchange.h"
#include "probe/paths/exchange.h"
#include "probe/quic/measurement.h"
#include "probe/quic/parameters.h"
#include "probe/rpc/measurement.h"
#include "probe/rpc/parameters.h"
#include "probe/udp/parameters.h"
#include "probe/udp/run_threads.h"

namespace {

using namespace chokepoint::probe;
using chokepoint::control::Json;

void understand(const Json& body) {
  if (const auto parameters = udp::parameters_in(body)) {
    if (!udp::parameters_in(udp::body_of(*parameters))) std::abort();
  }
  std::ignore = udp::run_plan_in(body);
  if (const auto report = udp::side_report_in(body)) {
    if (!udp::side_report_in(udp::body_of(*report))) std::abort();
  }
  if (const auto parameters = quic::parameters_in(body)) {
    if (!quic::parameters_in(quic::body_of(*parameters))) std::abort();
  }
  if (const auto half = quic::half_in(body)) {
    if (!quic::half_in(quic::body_of(*half))) std::abort();
  }
  std::ignore = quic::interval_in(body);
  std::ignore = quic::certificate_in(body);
  if (const auto parameters = rpc::parameters_in(body)) {
    if (!rpc::parameters_in(rpc::body_of(*parameters))) std::abort();
  }
  if (const auto half = rpc::half_in(body)) {
    if (!rpc::half_in(rpc::body_of(*half))) std::abort();
  }
  std::ignore = rpc::progress_in(body);
  if (const auto parameters = latency::parameters_in(body)) {
    if (!latency::parameters_in(latency::body_of(*parameters))) std::abort();
  }
  if (const auto request = latency::load_request_in(body)) {
    if (!latency::load_request_in(latency::body_of(*request))) std::abort();
  }
  std::ignore = path::greeting_target_in(body);
  if (const auto parameters = paths::parameters_in(body)) {
    if (!paths::parameters_in(paths::body_of(*parameters))) std::abort();
  }
  std::ignore = paths::ready_in(body);
  std::ignore = paths::counts_in(body, {.flows = 4, .packets = 10});
  std::ignore = collective::value_in(body);
  std::ignore = collective::child_end_in(body);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const Json body = Json::parse(data, data + size, nullptr, false);
  if (body.is_object()) understand(body);
  return 0;
}
