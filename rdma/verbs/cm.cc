#include "rdma/verbs/cm.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/net/deadline.h"
#include "rdma/verbs/api.h"
#include "rdma/verbs/queues.h"
#include "rdma/verbs/refusal.h"

namespace chokepoint::rdma::verbs {
namespace {

constexpr std::string_view kConnectionManager = "rdma_cm";
constexpr std::string_view kGiveAddress =
    "give addresses of the RDMA devices' own Ethernet interfaces";

struct CmEvent {
  rdma_cm_event_type type = RDMA_CM_EVENT_ADDR_RESOLVED;
  int status = 0;  // minus an errno, or the reason of a rejection
  rdma_cm_id* id = nullptr;
  std::vector<std::uint8_t> private_data = {};
};

// The events of some connections. Each connection is an rdma_cm identifier, which holds its
// channel. Events are acknowledged as soon as they are copied, so that destroying an identifier
// never waits.
class CmChannel {
 public:
  static Result<std::shared_ptr<CmChannel>> open();
  CmChannel(std::shared_ptr<const CmApi> api, rdma_event_channel* raw)
      : api_(std::move(api)), raw_(raw) {}
  CmChannel(const CmChannel&) = delete;
  CmChannel& operator=(const CmChannel&) = delete;
  ~CmChannel() { api_->destroy_event_channel(raw_); }

  const CmApi& api() const { return *api_; }
  rdma_event_channel* raw() const { return raw_; }
  Result<CmEvent> next(const net::Deadline& deadline, std::string_view subject);

 private:
  std::shared_ptr<const CmApi> api_;
  rdma_event_channel* raw_;
};

// An identifier; destroyed before its channel. Move only.
class CmId {
 public:
  static Result<CmId> open(std::shared_ptr<CmChannel> channel);
  // The identifier of an event.
  CmId(std::shared_ptr<CmChannel> channel, rdma_cm_id* raw)
      : channel_(std::move(channel)), raw_(raw, channel_->api().destroy_id) {}

  rdma_cm_id* get() const { return raw_.get(); }
  const CmApi& api() const { return channel_->api(); }
  CmChannel& channel() const { return *channel_; }
  const std::shared_ptr<CmChannel>& shared_channel() const { return channel_; }

 private:
  std::shared_ptr<CmChannel> channel_;
  std::unique_ptr<rdma_cm_id, int (*)(rdma_cm_id*)> raw_;
};

// Reasons of a rejection, as the InfiniBand specification numbers them.
constexpr int kNobodyListens = 8;
constexpr int kStaleConnection = 10;
constexpr int kRejectedByPeer = 28;

Error rejected(const CmEvent& event, std::string_view subject) {
  Error error{ErrorKind::Refused, std::string(kConnectionManager), std::string(subject), 0, {}, {}};
  switch (event.status) {
    case kNobodyListens:
      error.reason = "no program listens there";
      error.next_step = "is the peer still there?";
      break;
    case kStaleConnection:
      error.reason = "the peer has not yet forgotten an earlier connection";
      error.next_step = "run the test again in some seconds";
      break;
    case kRejectedByPeer:
      error.reason = "the peer sent this side away";
      error.next_step = "see what the peer says";
      break;
    default:
      error.reason = fmt::format("the peer's rdma_cm refused, reason {}", event.status);
      error.next_step = "leave out --cm";
  }
  return error;
}

Error failed(const CmEvent& event, std::string_view subject, std::string_view next_step) {
  Error error = from_errno(event.status < 0 ? -event.status : EIO, kConnectionManager, subject);
  error.next_step = next_step;
  return error;
}

CmEvent copy_of(const rdma_cm_event& raw) {
  CmEvent event{.type = raw.event, .status = raw.status, .id = raw.id};
  if (raw.event == RDMA_CM_EVENT_CONNECT_REQUEST && raw.param.conn.private_data != nullptr) {
    const auto* data = static_cast<const std::uint8_t*>(raw.param.conn.private_data);
    event.private_data.assign(data, data + raw.param.conn.private_data_len);
  }
  return event;
}

Error no_channel(int reason) {
  constexpr const char* kFile = "/dev/infiniband/rdma_cm";
  const int code = code_for_file(kFile, reason);
  Error error = from_errno(code, "open", kFile);
  error.next_step = code == EACCES || code == EPERM ? "run as root, or leave out --cm"
                                                    : "modprobe rdma_ucm, or leave out --cm";
  return error;
}

Result<std::shared_ptr<CmChannel>> CmChannel::open() {
  TRY(const auto api, host_cm_api());
  errno = 0;
  rdma_event_channel* raw = api->create_event_channel();
  if (raw == nullptr) {
    return fail(no_channel(errno));
  }
  auto channel = std::make_shared<CmChannel>(api, raw);
  const int flags = fcntl(raw->fd, F_GETFL);
  if (flags < 0 || fcntl(raw->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return fail(no_channel(errno));
  }
  return channel;
}

Result<CmEvent> CmChannel::next(const net::Deadline& deadline, std::string_view subject) {
  while (true) {
    if (auto ready = net::wait_for(raw_->fd, POLLIN, deadline, kConnectionManager, subject);
        !ready) {
      Error error = std::move(ready.error());
      if (error.kind == ErrorKind::Timeout) {
        error.next_step = "is the peer still there, and UDP port 4791 open on the path?";
      }
      return fail(std::move(error));
    }
    rdma_cm_event* raw = nullptr;
    if (api_->get_cm_event(raw_, &raw) == 0) {
      CmEvent event = copy_of(*raw);
      api_->ack_cm_event(raw);
      return event;
    }
    if (errno != EAGAIN && errno != EINTR) {
      return fail(from_errno(errno, kConnectionManager, subject));
    }
  }
}

Result<CmId> CmId::open(std::shared_ptr<CmChannel> channel) {
  rdma_cm_id* raw = nullptr;
  if (channel->api().create_id(channel->raw(), &raw, nullptr, RDMA_PS_TCP) != 0) {
    return fail(from_errno(errno, kConnectionManager, "create identifier"));
  }
  return CmId(std::move(channel), raw);
}

// The error that an unexpected event stands for.
Error explain(const CmEvent& event, std::string_view subject) {
  switch (event.type) {
    case RDMA_CM_EVENT_ADDR_ERROR:
      return failed(event, subject, kGiveAddress);
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
      return failed(event, subject, "is UDP port 4791 open on the path? ping that address");
    case RDMA_CM_EVENT_REJECTED:
      return rejected(event, subject);
    case RDMA_CM_EVENT_DISCONNECTED:
      return {ErrorKind::Refused,
              std::string(kConnectionManager),
              std::string(subject),
              0,
              "the peer has gone while it connected",
              "see what the peer says"};
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return {ErrorKind::NotFound,           std::string(kConnectionManager),
              std::string(subject),          0,
              "the device has been removed", "see the kernel log: dmesg"};
    default:
      return failed(event, subject, "leave out --cm");
  }
}

// The private data of a request: the listener's token, and the number of the queue pair.
using CmCard = std::array<std::uint8_t, sizeof(CmToken::bytes) + 2>;

std::uint8_t reads_as_target(const Endpoint& endpoint, const PathOptions& path) {
  return byte_of(std::min(path.reads_as_target, endpoint.parts().limits.reads_as_target));
}

std::uint8_t reads_as_source(const Endpoint& endpoint, const PathOptions& path) {
  return byte_of(std::min(path.reads_as_source, endpoint.parts().limits.reads_as_source));
}

struct Transition {
  ibv_qp_attr attributes{};
  int mask = 0;
};

// The attributes of this transition as rdma_cm found them.
Result<Transition> transition_to(ibv_qp_state state, const CmId& id, const Endpoint& endpoint) {
  Transition transition;
  transition.attributes.qp_state = state;
  if (id.api().init_qp_attr(id.get(), &transition.attributes, &transition.mask) != 0) {
    return fail(from_errno(errno, "ask rdma_cm for a path", endpoint.parts().device));
  }
  return transition;
}

Result<> ready_to_receive(QueuePair& queue, const CmId& id, const Endpoint& endpoint,
                          const PathOptions& path) {
  TRY(Transition transition, transition_to(IBV_QPS_RTR, id, endpoint));
  ibv_qp_attr& attributes = transition.attributes;
  attributes.path_mtu = mtu_of(path.mtu_bytes);
  attributes.max_dest_rd_atomic = reads_as_target(endpoint, path);
  attributes.min_rnr_timer = byte_of(path.rnr_timer);
  attributes.ah_attr.sl = byte_of(path.service_level);
  attributes.ah_attr.grh.traffic_class = byte_of(path.traffic_class);
  attributes.ah_attr.grh.hop_limit = byte_of(path.hop_limit);
  return queue.modify(attributes, static_cast<unsigned>(transition.mask), "connect queue pair");
}

Result<> ready_to_send(QueuePair& queue, const CmId& id, const Endpoint& endpoint,
                       const PathOptions& path) {
  TRY(Transition transition, transition_to(IBV_QPS_RTS, id, endpoint));
  ibv_qp_attr& attributes = transition.attributes;
  attributes.timeout = byte_of(path.timeout);
  attributes.retry_cnt = byte_of(path.retries);
  attributes.rnr_retry = byte_of(path.rnr_retries);
  attributes.max_rd_atomic = reads_as_source(endpoint, path);
  return queue.modify(attributes, static_cast<unsigned>(transition.mask), "let queue pair send");
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

CmCard card_of(const CmToken& token, std::size_t queue) {
  CmCard card{};
  std::ranges::copy(token.bytes, card.begin());
  card[token.bytes.size()] = static_cast<std::uint8_t>(queue >> 8U);
  card[token.bytes.size() + 1] = static_cast<std::uint8_t>(queue);
  return card;
}

// Private data may arrive padded.
bool shows(std::span<const std::uint8_t> data, const CmCard& card) {
  return data.size() >= card.size() && std::ranges::equal(data.first(card.size()), card);
}

Result<> check_transport(const Endpoint& endpoint) {
  return endpoint.options().transport == Transport::Rc
             ? Result<>()
             : fail(ErrorKind::Usage, "rdma_cm", "", "only RC queue pairs are connected by rdma_cm",
                    "choose RC, or leave out --cm");
}

// Whether rdma_cm found the endpoint's own device and port.
Result<> same_device(const rdma_cm_id& id, const Endpoint& endpoint, std::string_view subject) {
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

rdma_conn_param parameters_of(const QueuePair& queue, const Endpoint& endpoint,
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

Result<> take_path(QueuePair& queue, const CmId& id, const Endpoint& endpoint,
                   const PathOptions& path) {
  TRY(ready_to_receive(queue, id, endpoint, path));
  return ready_to_send(queue, id, endpoint, path);
}

int milliseconds_left(const net::Deadline& deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline.until - net::Deadline::Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 1, 600'000));
}

class Connecting {
 public:
  Connecting(Endpoint& endpoint, const CmPeer& peer, const PathOptions& path,
             const net::Deadline& deadline)
      : endpoint_(endpoint),
        peer_(peer),
        path_(path),
        patience_(deadline),
        subject_(peer.address.text()) {}

  Result<CmId> connect(std::size_t queue);

 private:
  Result<> resolve(const CmId& id);
  Result<> ask(const CmId& id, std::size_t queue);
  Result<> until(rdma_cm_event_type wanted, const CmId& id);
  std::unexpected<Error> failed() const;

  Endpoint& endpoint_;
  const CmPeer& peer_;
  const PathOptions& path_;
  const net::Deadline& patience_;
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
  TRY(until(RDMA_CM_EVENT_ADDR_RESOLVED, id));
  TRY(same_device(*id.get(), endpoint_, subject_));
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
  TRY(until(RDMA_CM_EVENT_CONNECT_RESPONSE, id));
  TRY(take_path(pair, id, endpoint_, path_));
  return id.api().establish(id.get()) == 0 ? Result<>() : failed();
}

Result<CmId> Connecting::connect(std::size_t queue) {
  // Each queue pair has a channel of its own, which has only its events.
  TRY(std::shared_ptr<CmChannel> channel, CmChannel::open());
  Result<CmId> id = CmId::open(std::move(channel));
  if (!id) {
    return id;
  }
  TRY(resolve(*id));
  TRY(ask(*id, queue));
  return id;
}

constexpr int kBacklog = 64;

CmToken any_token() {
  CmToken token;
  std::random_device random;
  std::ranges::generate(token.bytes, [&] { return static_cast<std::uint8_t>(random()); });
  return token;
}

class LiveListener final : public CmListener {
 public:
  LiveListener(CmId id, std::string subject)
      : id_(std::move(id)), subject_(std::move(subject)), token_(any_token()) {}

  std::uint16_t port() const override { return ntohs(id_.api().get_src_port(id_.get())); }
  const CmToken& token() const override { return token_; }
  Result<std::unique_ptr<CmConnections>> accept(Endpoint& endpoint, const PathOptions& path,
                                                const net::Deadline& deadline) override;

 private:
  Result<CmId> asked_for(std::size_t queue, const net::Deadline& deadline);
  Result<> answer(const CmId& id, QueuePair& queue, Endpoint& endpoint, const PathOptions& path);
  Result<> until_established(const CmId& id, const net::Deadline& deadline);
  Result<CmEvent> next(const net::Deadline& deadline) {
    return id_.channel().next(deadline, subject_);
  }
  void reject(rdma_cm_id* request);

  CmId id_;
  std::string subject_;
  CmToken token_;
};

void LiveListener::reject(rdma_cm_id* request) {
  const CmId id(id_.shared_channel(), request);
  id_.api().reject(request, nullptr, 0);
}

Result<CmId> LiveListener::asked_for(std::size_t queue, const net::Deadline& deadline) {
  const CmCard card = card_of(token_, queue);
  while (true) {
    // Requests of others may keep coming.
    if (deadline.over()) {
      return fail(ErrorKind::Timeout, "rdma_cm", subject_, "no request came in time");
    }
    TRY(CmEvent event, next(deadline));
    if (event.type != RDMA_CM_EVENT_CONNECT_REQUEST) {
      // Of an earlier connection, or of one that is gone.
      continue;
    }
    if (shows(event.private_data, card)) {
      return CmId(id_.shared_channel(), event.id);
    }
    reject(event.id);
  }
}

Result<> LiveListener::answer(const CmId& id, QueuePair& queue, Endpoint& endpoint,
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

Result<> LiveListener::until_established(const CmId& id, const net::Deadline& deadline) {
  while (true) {
    TRY(CmEvent event, next(deadline));
    if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST) {
      reject(event.id);
    } else if (event.id == id.get()) {
      return event.type == RDMA_CM_EVENT_ESTABLISHED ? Result<>() : fail(explain(event, subject_));
    }
  }
}

Result<std::unique_ptr<CmConnections>> LiveListener::accept(Endpoint& endpoint,
                                                            const PathOptions& path,
                                                            const net::Deadline& deadline) {
  TRY(check_transport(endpoint));
  std::vector<CmId> ids;
  for (std::size_t queue = 0; queue < endpoint.queues().size(); ++queue) {
    TRY(CmId id, asked_for(queue, deadline));
    TRY(answer(id, *endpoint.queues()[queue], endpoint, path));
    TRY(until_established(id, deadline));
    ids.push_back(std::move(id));
  }
  return std::make_unique<KeptConnections>(std::move(ids));
}

}  // namespace

Result<std::unique_ptr<CmConnections>> connect_by_cm(Endpoint& endpoint, const CmPeer& peer,
                                                     const PathOptions& path,
                                                     const net::Deadline& deadline) {
  TRY(check_transport(endpoint));
  Connecting connecting(endpoint, peer, path, deadline);
  std::vector<CmId> ids;
  for (std::size_t queue = 0; queue < endpoint.queues().size(); ++queue) {
    TRY(CmId id, connecting.connect(queue));
    ids.push_back(std::move(id));
  }
  return std::make_unique<KeptConnections>(std::move(ids));
}

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
