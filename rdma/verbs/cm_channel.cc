#include "rdma/verbs/cm_channel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <cerrno>

#include "rdma/verbs/refusal.h"

namespace chokepoint::rdma::verbs {
namespace {

constexpr std::string_view kConnectionManager = "rdma_cm";

// Reasons of a rejection, as the InfiniBand specification numbers them.
constexpr int kNobodyListens = 8;
constexpr int kStaleConnection = 10;
constexpr int kSentAway = 28;

Error rejected(const CmEvent& event, std::string_view subject) {
  Error error{ErrorKind::Refused, std::string(kConnectionManager), std::string(subject), 0, {}, {}};
  switch (event.status) {
    case kNobodyListens:
      error.reason = "nobody listens there";
      error.next_step = "is the peer still there?";
      break;
    case kStaleConnection:
      error.reason = "the peer has not yet forgotten an earlier connection";
      error.next_step = "run the test again in some seconds";
      break;
    case kSentAway:
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
    const auto* told = static_cast<const std::uint8_t*>(raw.param.conn.private_data);
    event.told.assign(told, told + raw.param.conn.private_data_len);
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

}  // namespace

Result<std::shared_ptr<CmChannel>> CmChannel::open() {
  const Result<std::shared_ptr<const CmApi>>& api = host_cm_api();
  if (!api) {
    return fail(api.error());
  }
  errno = 0;
  rdma_event_channel* raw = (*api)->create_event_channel();
  if (raw == nullptr) {
    return fail(no_channel(errno));
  }
  auto channel = std::make_shared<CmChannel>(*api, raw);
  const int flags = fcntl(raw->fd, F_GETFL);
  if (flags < 0 || fcntl(raw->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return fail(no_channel(errno));
  }
  return channel;
}

Result<CmEvent> CmChannel::next(const net::Patience& patience, std::string_view subject) {
  while (true) {
    if (auto ready = net::wait_for(raw_->fd, POLLIN, patience, kConnectionManager, subject);
        !ready) {
      Error error = std::move(ready.error());
      if (error.kind == ErrorKind::Timeout) {
        error.next_step = "is the peer still there, and UDP port 4791 open on the way?";
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

Error explain(const CmEvent& event, std::string_view subject) {
  switch (event.type) {
    case RDMA_CM_EVENT_ADDR_ERROR:
      return failed(event, subject, kGiveAddress);
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
      return failed(event, subject, "is UDP port 4791 open on the way? ping that address");
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

}  // namespace chokepoint::rdma::verbs
