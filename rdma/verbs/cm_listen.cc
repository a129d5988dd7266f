// The side that is asked for connections.
#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <random>

#include "rdma/verbs/cm_queue.h"

namespace chokepoint::rdma::verbs {
namespace {

constexpr int kBacklog = 64;

CmToken any_token() {
  CmToken token{};
  std::random_device random;
  std::ranges::generate(token, [&] { return static_cast<std::uint8_t>(random()); });
  return token;
}

class LiveListener final : public CmListener {
 public:
  LiveListener(CmId id, std::string subject)
      : id_(std::move(id)), subject_(std::move(subject)), token_(any_token()) {}

  std::uint16_t port() const override { return ntohs(id_.api().get_src_port(id_.get())); }
  const CmToken& token() const override { return token_; }
  Result<std::unique_ptr<CmConnections>> accept(Endpoint& endpoint, const PathOptions& path,
                                                const net::Patience& patience) override;

 private:
  Result<CmId> asked_for(std::size_t queue, const net::Patience& patience);
  Result<> answer(const CmId& id, QueuePair& queue, LiveEndpoint& endpoint,
                  const PathOptions& path);
  Result<> until_established(const CmId& id, const net::Patience& patience);
  Result<CmEvent> next(const net::Patience& patience) {
    return id_.channel().next(patience, subject_);
  }
  void send_away(rdma_cm_id* stranger);

  CmId id_;
  std::string subject_;
  CmToken token_;
};

void LiveListener::send_away(rdma_cm_id* stranger) {
  const CmId id(id_.shared_channel(), stranger);
  id_.api().reject(stranger, nullptr, 0);
}

Result<CmId> LiveListener::asked_for(std::size_t queue, const net::Patience& patience) {
  const CmCard card = card_of(token_, queue);
  while (true) {
    TRY(CmEvent event, next(patience));
    if (event.type != RDMA_CM_EVENT_CONNECT_REQUEST) {
      // Of a connection of before, or of one that is gone.
      continue;
    }
    if (shows(event.told, card)) {
      return CmId(id_.shared_channel(), event.id);
    }
    send_away(event.id);
  }
}

Result<> LiveListener::answer(const CmId& id, QueuePair& queue, LiveEndpoint& endpoint,
                              const PathOptions& path) {
  auto ready = same_device(*id.get(), endpoint, subject_);
  if (ready) {
    ready = take_path(queue, id, endpoint, path);
  }
  if (!ready) {
    id.api().reject(id.get(), nullptr, 0);
    return ready;
  }
  rdma_conn_param parameters = parameters_of(queue, endpoint, path);
  if (id.api().accept(id.get(), &parameters) != 0) {
    return fail(from_errno(errno, "rdma_cm", subject_));
  }
  return {};
}

Result<> LiveListener::until_established(const CmId& id, const net::Patience& patience) {
  while (true) {
    TRY(CmEvent event, next(patience));
    if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST) {
      send_away(event.id);
    } else if (event.id == id.get()) {
      return event.type == RDMA_CM_EVENT_ESTABLISHED ? Result<>() : fail(explain(event, subject_));
    }
  }
}

Result<std::unique_ptr<CmConnections>> LiveListener::accept(Endpoint& endpoint,
                                                            const PathOptions& path,
                                                            const net::Patience& patience) {
  TRY(LiveEndpoint * live, connectable(endpoint));
  std::vector<CmId> ids;
  for (std::size_t queue = 0; queue < live->queues().size(); ++queue) {
    TRY(CmId id, asked_for(queue, patience));
    TRY(answer(id, *live->queues()[queue], *live, path));
    TRY(until_established(id, patience));
    ids.push_back(std::move(id));
  }
  return keep(std::move(ids));
}

}  // namespace

Result<std::unique_ptr<CmListener>> listen_by_cm(const net::Endpoint& address) {
  TRY(std::shared_ptr<CmChannel> channel, CmChannel::open());
  TRY(CmId id, CmId::open(std::move(channel)));
  sockaddr_storage here{};
  address.to_socket(here);
  if (id.api().bind_addr(id.get(), reinterpret_cast<sockaddr*>(&here)) != 0 ||
      id.api().listen(id.get(), kBacklog) != 0) {
    Error error = from_errno(errno, "rdma_cm listen", address.text());
    error.next_step = kGiveAddress;
    return fail(std::move(error));
  }
  return std::make_unique<LiveListener>(std::move(id), address.text());
}

}  // namespace chokepoint::rdma::verbs
