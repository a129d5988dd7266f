// The side that asks for connections.
#include <algorithm>
#include <cerrno>
#include <chrono>

#include "rdma/verbs/cm_queue.h"

namespace chokepoint::rdma::verbs {
namespace {

int milliseconds_left(const net::Patience& patience) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      patience.until - net::Patience::Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 1, 600'000));
}

class Connecting {
 public:
  Connecting(LiveEndpoint& endpoint, const CmPeer& peer, const PathOptions& path,
             const net::Patience& patience)
      : endpoint_(endpoint),
        peer_(peer),
        path_(path),
        patience_(patience),
        subject_(peer.address.text()) {}

  Result<CmId> connect(std::size_t queue);

 private:
  Result<> resolve(const CmId& id);
  Result<> ask(const CmId& id, std::size_t queue);
  Result<> until(rdma_cm_event_type wanted, const CmId& id);
  std::unexpected<Error> failed() const;

  LiveEndpoint& endpoint_;
  const CmPeer& peer_;
  const PathOptions& path_;
  const net::Patience& patience_;
  std::string subject_;
};

std::unexpected<Error> Connecting::failed() const {
  Error error = from_errno(errno, "rdma_cm", subject_);
  error.next_step = kGiveAddress;
  return fail(std::move(error));
}

Result<> Connecting::until(rdma_cm_event_type wanted, const CmId& id) {
  TRY(CmEvent event, id.channel().next(patience_, subject_));
  return event.type == wanted ? Result<>() : fail(explain(event, subject_));
}

Result<> Connecting::resolve(const CmId& id) {
  sockaddr_storage there{};
  peer_.address.to_socket(there);
  sockaddr_storage here{};
  if (peer_.source) {
    net::Endpoint{.address = *peer_.source, .port = 0}.to_socket(here);
  }
  if (id.api().resolve_addr(id.get(), peer_.source ? reinterpret_cast<sockaddr*>(&here) : nullptr,
                            reinterpret_cast<sockaddr*>(&there),
                            milliseconds_left(patience_)) != 0) {
    return failed();
  }
  if (auto done = until(RDMA_CM_EVENT_ADDR_RESOLVED, id); !done) {
    return done;
  }
  if (auto same = same_device(*id.get(), endpoint_, subject_); !same) {
    return same;
  }
  if (id.api().resolve_route(id.get(), milliseconds_left(patience_)) != 0) {
    return failed();
  }
  return until(RDMA_CM_EVENT_ROUTE_RESOLVED, id);
}

Result<> Connecting::ask(const CmId& id, std::size_t queue) {
  const CmCard card = card_of(peer_.token, queue);
  QueuePair& pair = *endpoint_.queues()[queue];
  rdma_conn_param parameters = parameters_of(pair, endpoint_, path_);
  parameters.private_data = card.data();
  parameters.private_data_len = static_cast<std::uint8_t>(card.size());
  if (id.api().connect(id.get(), &parameters) != 0) {
    return failed();
  }
  if (auto answered = until(RDMA_CM_EVENT_CONNECT_RESPONSE, id); !answered) {
    return answered;
  }
  if (auto taken = take_path(pair, id, endpoint_, path_); !taken) {
    return taken;
  }
  return id.api().establish(id.get()) == 0 ? Result<>() : failed();
}

Result<CmId> Connecting::connect(std::size_t queue) {
  // Each has a channel of its own: its events are about nothing else.
  TRY(std::shared_ptr<CmChannel> channel, CmChannel::open());
  Result<CmId> id = CmId::open(std::move(channel));
  if (!id) {
    return id;
  }
  TRY(resolve(*id));
  TRY(ask(*id, queue));
  return id;
}

}  // namespace

Result<std::unique_ptr<CmConnections>> connect_by_cm(Endpoint& endpoint, const CmPeer& peer,
                                                     const PathOptions& path,
                                                     const net::Patience& patience) {
  TRY(LiveEndpoint * live, connectable(endpoint));
  Connecting connecting(*live, peer, path, patience);
  std::vector<CmId> ids;
  for (std::size_t queue = 0; queue < live->queues().size(); ++queue) {
    TRY(CmId id, connecting.connect(queue));
    ids.push_back(std::move(id));
  }
  return keep(std::move(ids));
}

}  // namespace chokepoint::rdma::verbs
