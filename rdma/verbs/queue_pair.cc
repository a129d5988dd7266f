#include "rdma/verbs/queue_pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <random>

#include "rdma/verbs/queue_key.h"
#include "rdma/verbs/refusal.h"

namespace chokepoint::rdma::verbs {
namespace {

constexpr std::uint32_t k24Bits = 0xffffff;

ibv_qp_type type_of(Transport transport) {
  switch (transport) {
    case Transport::Rc:
      return IBV_QPT_RC;
    case Transport::Uc:
      return IBV_QPT_UC;
    case Transport::Ud:
      return IBV_QPT_UD;
  }
  return IBV_QPT_RC;
}

ibv_qp* create(const LiveParts& parts, const EndpointOptions& options,
               const QueuePair::Completions& completions, int inline_bytes) {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = completions.sends;
  wanted.recv_cq = completions.receives;
  wanted.qp_type = type_of(options.transport);
  wanted.cap.max_send_wr = static_cast<std::uint32_t>(std::max(1, options.send_depth));
  wanted.cap.max_recv_wr = static_cast<std::uint32_t>(std::max(1, options.receive_depth));
  wanted.cap.max_send_sge = 1;
  wanted.cap.max_recv_sge = 1;
  wanted.cap.max_inline_data = static_cast<std::uint32_t>(inline_bytes);
  errno = 0;
  return parts.api->create_qp(parts.domain, &wanted);
}

// Devices do not tell how much they take inline: what they refuse has to be tried.
int largest_inline(const LiveParts& parts, const EndpointOptions& options,
                   const QueuePair::Completions& completions) {
  int taken = 0;
  int refused = options.inline_bytes;
  while (refused - taken > 1) {
    const int tried = taken + (refused - taken) / 2;
    const Owned<ibv_qp> pair(create(parts, options, completions, tried), parts.api->destroy_qp);
    (pair ? taken : refused) = tried;
  }
  return taken;
}

Error refused_pair(int code, const LiveParts& parts, const EndpointOptions& options,
                   const QueuePair::Completions& completions) {
  constexpr std::string_view kOperation = "create queue pair";
  if (code == EOPNOTSUPP || code == ENOSYS) {
    return {ErrorKind::Unsupported,
            std::string(kOperation),
            parts.device,
            code,
            fmt::format("the device has no {}", name_of(options.transport)),
            "choose RC"};
  }
  if (code == EINVAL && options.inline_bytes > 0) {
    if (Owned<ibv_qp>(create(parts, options, completions, 0), parts.api->destroy_qp)) {
      const int most = largest_inline(parts, options, completions);
      return {ErrorKind::Usage,
              std::string(kOperation),
              parts.device,
              code,
              fmt::format("{} bytes inline are asked for, the device takes {} at most",
                          options.inline_bytes, most),
              fmt::format("ask for {} or less", most)};
    }
  }
  return refused_resource(code, kOperation, parts.device, memory_lock_limit());
}

std::uint32_t any_packet_number() { return std::random_device()() & k24Bits; }

}  // namespace

QueuePair::QueuePair(const LiveParts& parts, const EndpointOptions& options, int index,
                     Owned<ibv_qp> pair)
    : parts_(parts),
      options_(options),
      index_(index),
      pair_(std::move(pair)),
      handle_(nullptr, parts.api->destroy_ah),
      address_{.number = pair_->qp_num, .first_packet = any_packet_number()} {}

Result<std::unique_ptr<QueuePair>> QueuePair::open(const LiveParts& parts,
                                                   const EndpointOptions& options, int index,
                                                   const Completions& completions) {
  Owned<ibv_qp> pair(create(parts, options, completions, options.inline_bytes),
                     parts.api->destroy_qp);
  if (!pair) {
    return fail(refused_pair(errno, parts, options, completions));
  }
  std::unique_ptr<QueuePair> made(new QueuePair(parts, options, index, std::move(pair)));
  TRY(made->initialise());
  return made;
}

Result<> QueuePair::initialise() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = static_cast<std::uint8_t>(options_.port);
  unsigned mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  if (options_.transport == Transport::Ud) {
    attributes.qkey = kQueueKey;
    mask |= IBV_QP_QKEY;
  } else {
    mask |= IBV_QP_ACCESS_FLAGS;
    attributes.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  }
  if (options_.transport == Transport::Rc) {
    attributes.qp_access_flags |= IBV_ACCESS_REMOTE_READ;
    attributes.qp_access_flags |= parts_.limits.atomics ? unsigned{IBV_ACCESS_REMOTE_ATOMIC} : 0U;
  }
  return modify(attributes, mask, "initialise queue pair");
}

Result<> QueuePair::modify(ibv_qp_attr& attributes, unsigned mask, std::string_view operation) {
  const int code = parts_.api->modify_qp(pair_.get(), &attributes, static_cast<int>(mask));
  if (code != 0) {
    // Libraries of old give -1 and leave the reason in errno.
    return fail(refused_path(code > 0 ? code : errno, operation, parts_.device));
  }
  return {};
}

}  // namespace chokepoint::rdma::verbs
