#include "probe/commands/kinds.h"

#include <memory>
#include <utility>

#include "measure/baseline/baseline.h"
#include "probe/collective/launch/rank_service.h"
#include "probe/latency/responder.h"
#include "probe/latency/test.h"
#include "probe/path/exchange.h"
#include "probe/paths/exchange.h"
#include "probe/quic/test.h"
#include "probe/rpc/test.h"
#include "probe/tcp/trial.h"
#include "probe/udp/test.h"

namespace chokepoint::probe {

cli::Registry kind_commands(std::vector<collective::Backend> backends) {
  return {tcp_command(),
          udp_command(),
          quic_command(),
          rpc_command(),
          latency_command(),
          path_command(),
          paths_command(),
          pcie_command(),
          processor_command(),
          storage_command(),
          collective_command(std::move(backends))};
}

control::Services kind_services(const ServiceContext& context) {
  control::Services services;
  services.push_back(tcp::tcp_service());
  services.push_back(path::path_service());
  services.push_back(paths::paths_service());
  services.push_back(udp::udp_service());
  services.push_back(quic::quic_service());
  services.push_back(rpc::rpc_service(context.program, context.may_call_others));
  services.push_back(latency::latency_service());
  services.push_back(latency::responsiveness_service());
  services.push_back(collective::rank_service());
  services.push_back(std::make_unique<baseline::FactsService>());
  return services;
}

}  // namespace chokepoint::probe
