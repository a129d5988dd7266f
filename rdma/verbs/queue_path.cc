// How a queue pair gets from INIT to where it sends.
#include <algorithm>
#include <cerrno>

#include "rdma/verbs/byte.h"
#include "rdma/verbs/mtu.h"
#include "rdma/verbs/queue_key.h"
#include "rdma/verbs/queue_pair.h"
#include "rdma/verbs/refusal.h"

namespace chokepoint::rdma::verbs {
namespace {

// InfiniBand within a subnet goes by LID alone; everything else by GID.
bool leaves_subnet(const Port& port, const Gid& mine, const Gid& peer) {
  return port.ethernet || !std::equal(mine.begin(), mine.begin() + 8, peer.begin());
}

}  // namespace

ibv_ah_attr QueuePair::route_to(const EndpointAddress& peer, const PathOptions& path) const {
  ibv_ah_attr route{};
  route.dlid = peer.lid;
  route.sl = byte_of(path.service_level);
  route.port_num = byte_of(options_.port);
  if (leaves_subnet(parts_.port, parts_.gid, peer.gid)) {
    route.is_global = 1;
    std::ranges::copy(peer.gid, route.grh.dgid.raw);
    route.grh.sgid_index = byte_of(options_.gid_index);
    route.grh.hop_limit = byte_of(path.hop_limit);
    route.grh.traffic_class = byte_of(path.traffic_class);
  }
  return route;
}

Result<> QueuePair::connect(const EndpointAddress& peer, const QueueAddress& queue,
                            const PathOptions& path) {
  peer_ = queue;
  if (auto ready = ready_to_receive(peer, queue, path); !ready) {
    return ready;
  }
  if (auto ready = ready_to_send(path); !ready) {
    return ready;
  }
  return options_.transport == Transport::Ud ? make_handle(peer, path) : Result<>();
}

Result<> QueuePair::ready_to_receive(const EndpointAddress& peer, const QueueAddress& queue,
                                     const PathOptions& path) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  unsigned mask = IBV_QP_STATE;
  if (options_.transport != Transport::Ud) {
    attributes.ah_attr = route_to(peer, path);
    attributes.path_mtu = mtu_of(path.mtu_bytes);
    attributes.dest_qp_num = queue.number;
    attributes.rq_psn = queue.first_packet;
    mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  }
  if (options_.transport == Transport::Rc) {
    attributes.max_dest_rd_atomic =
        byte_of(std::min(path.reads_as_target, parts_.limits.reads_as_target));
    attributes.min_rnr_timer = byte_of(path.rnr_timer);
    mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  }
  return modify(attributes, mask, "connect queue pair");
}

Result<> QueuePair::ready_to_send(const PathOptions& path) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = address_.first_packet;
  unsigned mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (options_.transport == Transport::Rc) {
    attributes.timeout = byte_of(path.timeout);
    attributes.retry_cnt = byte_of(path.retries);
    attributes.rnr_retry = byte_of(path.rnr_retries);
    attributes.max_rd_atomic =
        byte_of(std::min(path.reads_as_source, parts_.limits.reads_as_source));
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
  return modify(attributes, mask, "let queue pair send");
}

Result<> QueuePair::make_handle(const EndpointAddress& peer, const PathOptions& path) {
  ibv_ah_attr route = route_to(peer, path);
  errno = 0;
  handle_.reset(parts_.api->create_ah(parts_.domain, &route));
  if (!handle_) {
    return fail(refused_path(errno, "create address handle", parts_.device));
  }
  return {};
}

}  // namespace chokepoint::rdma::verbs
