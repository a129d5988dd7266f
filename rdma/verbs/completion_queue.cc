#include "rdma/verbs/completion_queue.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "rdma/verbs/place.h"
#include "rdma/verbs/refusal.h"

namespace chokepoint::rdma::verbs {
namespace {

constexpr std::size_t kAtOnce = 16;

// Where it failed, libibverbs fills in no more than these.
void keep_failure(const ibv_wc& raw, Completion& completion) {
  completion.status = static_cast<int>(raw.status);
  completion.vendor_error = raw.vendor_err;
  completion.bytes = 0;
  completion.has_immediate = false;
}

void keep_success(const ibv_wc& raw, Completion& completion) {
  completion.status = 0;
  completion.vendor_error = 0;
  completion.bytes = raw.byte_len;
  completion.has_immediate = (raw.wc_flags & IBV_WC_WITH_IMM) != 0;
  completion.immediate = completion.has_immediate ? ntohl(raw.imm_data) : 0;
}

void keep(const ibv_wc& raw, Completion& completion) {
  completion.queue = queue_of(raw.wr_id);
  completion.place = place_of(raw.wr_id);
  if (raw.status == IBV_WC_SUCCESS) {
    keep_success(raw, completion);
  } else {
    keep_failure(raw, completion);
  }
}

Result<> arm(ibv_cq* queue, const std::string& device) {
  if (const int code = ibv_req_notify_cq(queue, 0); code != 0) {
    return fail(from_errno(code, "arm completion queue", device));
  }
  return {};
}

Result<Owned<ibv_comp_channel>> open_channel(const LiveParts& parts) {
  Owned<ibv_comp_channel> channel(parts.api->create_comp_channel(parts.context),
                                  parts.api->destroy_comp_channel);
  if (!channel) {
    return fail(from_errno(errno, "create completion channel", parts.device));
  }
  const int flags = fcntl(channel->fd, F_GETFL);
  if (flags < 0 || fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return fail(from_errno(errno, "create completion channel", parts.device));
  }
  return channel;
}

}  // namespace

CompletionQueue::CompletionQueue(const LiveParts& parts, Owned<ibv_comp_channel> channel,
                                 Owned<ibv_cq> queue)
    : api_(parts.api),
      device_(parts.device),
      channel_(std::move(channel)),
      queue_(std::move(queue)) {}

Result<std::unique_ptr<CompletionQueue>> CompletionQueue::open(const LiveParts& parts, int depth,
                                                               bool events) {
  Owned<ibv_comp_channel> channel(nullptr, parts.api->destroy_comp_channel);
  if (events) {
    TRY(Owned<ibv_comp_channel> opened, open_channel(parts));
    channel = std::move(opened);
  }
  Owned<ibv_cq> queue(parts.api->create_cq(parts.context, depth, nullptr, channel.get(), 0),
                      parts.api->destroy_cq);
  if (!queue) {
    return fail(
        refused_resource(errno, "create completion queue", parts.device, memory_lock_limit()));
  }
  if (events) {
    TRY(arm(queue.get(), parts.device));
  }
  return std::unique_ptr<CompletionQueue>(
      new CompletionQueue(parts, std::move(channel), std::move(queue)));
}

int CompletionQueue::poll(std::span<Completion> into) {
  // Not cleared: the device fills in what it returns.
  std::array<ibv_wc, kAtOnce> raw;
  const int found =
      ibv_poll_cq(queue_.get(), static_cast<int>(std::min(into.size(), raw.size())), raw.data());
  for (int index = 0; index < found; ++index) {
    const auto at = static_cast<std::size_t>(index);
    keep(raw[at], into[at]);
  }
  return found < 0 ? -EIO : found;
}

Result<> CompletionQueue::wait(const net::Patience& patience) {
  if (!channel_) {
    if (patience.over()) {
      return fail(ErrorKind::Timeout, "wait for completion", device_, "no answer in time");
    }
    return {};
  }
  if (auto ready = net::wait_for(channel_->fd, POLLIN, patience, "wait for completion", device_);
      !ready) {
    return ready;
  }
  return take_event();
}

Result<> CompletionQueue::take_event() {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  if (api_->get_cq_event(channel_.get(), &queue, &context) != 0) {
    if (errno == EAGAIN || errno == EINTR) {
      return {};
    }
    return fail(from_errno(errno, "wait for completion", device_));
  }
  api_->ack_cq_events(queue, 1);
  return arm(queue, device_);
}

}  // namespace chokepoint::rdma::verbs
