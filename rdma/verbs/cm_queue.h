// A queue pair of an endpoint and rdma_cm's connection for it: who may ask for it, what it asks
// for, and how the queue pair takes the path that rdma_cm found. Values and functions of cm_*.cc.
#pragma once

#include <array>
#include <span>

#include "rdma/verbs/cm.h"
#include "rdma/verbs/cm_channel.h"
#include "rdma/verbs/live_endpoint.h"
#include "rdma/verbs/queue_pair.h"

namespace chokepoint::rdma::verbs {

// What the side that asks shows: the token, and which queue pair it is about.
using CmCard = std::array<std::uint8_t, std::tuple_size_v<CmToken> + 2>;
CmCard card_of(const CmToken& token, std::size_t queue);
// Private data may come longer than it was.
bool shows(std::span<const std::uint8_t> told, const CmCard& card);

// The endpoint as what rdma_cm can connect.
Result<LiveEndpoint*> connectable(Endpoint& endpoint);
// rdma_cm found the endpoint's own device and port.
Result<> same_device(const rdma_cm_id& id, const LiveEndpoint& endpoint, std::string_view subject);

rdma_conn_param parameters_of(const QueuePair& queue, const LiveEndpoint& endpoint,
                              const PathOptions& path);
// Ready to receive and to send.
Result<> take_path(QueuePair& queue, const CmId& id, const LiveEndpoint& endpoint,
                   const PathOptions& path);

// Keeps identifiers until the endpoint's owner is done.
std::unique_ptr<CmConnections> keep(std::vector<CmId> ids);

}  // namespace chokepoint::rdma::verbs
