#include "rdma/verbs/cm_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "rdma/verbs/byte.h"
#include "rdma/verbs/mtu.h"

namespace chokepoint::rdma::verbs {
namespace {

std::uint8_t reads_as_target(const LiveEndpoint& endpoint, const PathOptions& path) {
  return byte_of(std::min(path.reads_as_target, endpoint.parts().limits.reads_as_target));
}

std::uint8_t reads_as_source(const LiveEndpoint& endpoint, const PathOptions& path) {
  return byte_of(std::min(path.reads_as_source, endpoint.parts().limits.reads_as_source));
}

struct Step {
  ibv_qp_attr attributes{};
  int mask = 0;
};

// What rdma_cm knows of this step.
Result<Step> step_to(ibv_qp_state state, const CmId& id, const LiveEndpoint& endpoint) {
  Step step;
  step.attributes.qp_state = state;
  if (id.api().init_qp_attr(id.get(), &step.attributes, &step.mask) != 0) {
    return fail(from_errno(errno, "ask rdma_cm for a path", endpoint.parts().device));
  }
  return step;
}

Result<> ready_to_receive(QueuePair& queue, const CmId& id, const LiveEndpoint& endpoint,
                          const PathOptions& path) {
  TRY(Step step, step_to(IBV_QPS_RTR, id, endpoint));
  ibv_qp_attr& attributes = step.attributes;
  attributes.path_mtu = mtu_of(path.mtu_bytes);
  attributes.max_dest_rd_atomic = reads_as_target(endpoint, path);
  attributes.min_rnr_timer = byte_of(path.rnr_timer);
  attributes.ah_attr.sl = byte_of(path.service_level);
  attributes.ah_attr.grh.traffic_class = byte_of(path.traffic_class);
  attributes.ah_attr.grh.hop_limit = byte_of(path.hop_limit);
  return queue.modify(attributes, static_cast<unsigned>(step.mask), "connect queue pair");
}

Result<> ready_to_send(QueuePair& queue, const CmId& id, const LiveEndpoint& endpoint,
                       const PathOptions& path) {
  TRY(Step step, step_to(IBV_QPS_RTS, id, endpoint));
  ibv_qp_attr& attributes = step.attributes;
  attributes.timeout = byte_of(path.timeout);
  attributes.retry_cnt = byte_of(path.retries);
  attributes.rnr_retry = byte_of(path.rnr_retries);
  attributes.max_rd_atomic = reads_as_source(endpoint, path);
  return queue.modify(attributes, static_cast<unsigned>(step.mask), "let queue pair send");
}

class KeptConnections final : public CmConnections {
 public:
  explicit KeptConnections(std::vector<CmId> ids) : ids_(std::move(ids)) {}
  KeptConnections(const KeptConnections&) = delete;
  KeptConnections& operator=(const KeptConnections&) = delete;
  ~KeptConnections() override {
    for (const CmId& id : ids_) {
      id.api().disconnect(id.get());
    }
  }

 private:
  std::vector<CmId> ids_;
};

}  // namespace

CmCard card_of(const CmToken& token, std::size_t queue) {
  CmCard card{};
  std::ranges::copy(token, card.begin());
  card[token.size()] = static_cast<std::uint8_t>(queue >> 8U);
  card[token.size() + 1] = static_cast<std::uint8_t>(queue);
  return card;
}

bool shows(std::span<const std::uint8_t> told, const CmCard& card) {
  return told.size() >= card.size() && std::ranges::equal(told.first(card.size()), card);
}

Result<LiveEndpoint*> connectable(Endpoint& endpoint) {
  auto* live = dynamic_cast<LiveEndpoint*>(&endpoint);
  if (live == nullptr || live->options().transport != Transport::Rc) {
    return fail(ErrorKind::Usage, "rdma_cm", "", "only RC queue pairs are connected by rdma_cm",
                "choose RC, or leave out --cm");
  }
  return live;
}

Result<> same_device(const rdma_cm_id& id, const LiveEndpoint& endpoint, std::string_view subject) {
  const std::string_view found = id.verbs == nullptr ? "no device" : id.verbs->device->name;
  if (found == endpoint.parts().device && id.port_num == endpoint.options().port) {
    return {};
  }
  return fail(
      ErrorKind::Unreachable, "rdma_cm", subject,
      fmt::format("by that address it is reached over {} port {}, the test is on {} port {}", found,
                  id.port_num, endpoint.parts().device, endpoint.options().port),
      "name that device, or an address of this one's network");
}

rdma_conn_param parameters_of(const QueuePair& queue, const LiveEndpoint& endpoint,
                              const PathOptions& path) {
  rdma_conn_param parameters{};
  parameters.responder_resources = reads_as_target(endpoint, path);
  parameters.initiator_depth = reads_as_source(endpoint, path);
  parameters.flow_control = 1;
  parameters.retry_count = byte_of(path.retries);
  parameters.rnr_retry_count = byte_of(path.rnr_retries);
  parameters.qp_num = queue.address().number;
  return parameters;
}

Result<> take_path(QueuePair& queue, const CmId& id, const LiveEndpoint& endpoint,
                   const PathOptions& path) {
  if (auto ready = ready_to_receive(queue, id, endpoint, path); !ready) {
    return ready;
  }
  return ready_to_send(queue, id, endpoint, path);
}

std::unique_ptr<CmConnections> keep(std::vector<CmId> ids) {
  return std::make_unique<KeptConnections>(std::move(ids));
}

}  // namespace chokepoint::rdma::verbs
