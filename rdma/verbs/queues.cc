#include "rdma/verbs/queues.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <random>

#include "rdma/verbs/api.h"
#include "rdma/verbs/refusal.h"

namespace chokepoint::rdma::verbs {
namespace {

constexpr std::size_t kCompletionsPerPoll = 16;

// Of a failed request libibverbs fills in only these fields.
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

Result<Owned<ibv_comp_channel>> open_channel(const EndpointParts& parts) {
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

// Of UD queue pairs. Both sides of a test are this program, and the key guards only against stray
// datagrams; one with its highest bit set would need a privilege.
constexpr std::uint32_t kQueueKey = 0x11'22'33'44;

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

ibv_qp* create(const EndpointParts& parts, const EndpointOptions& options,
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

// Devices do not report how much they take inline: found by trying (bisection).
int largest_inline(const EndpointParts& parts, const EndpointOptions& options,
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

Error refused_pair(int code, const EndpointParts& parts, const EndpointOptions& options,
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

// InfiniBand within a subnet goes by LID alone; everything else by GID.
bool leaves_subnet(const Port& port, const Gid& mine, const Gid& peer) {
  return port.ethernet ||
         !std::equal(mine.bytes.begin(), mine.bytes.begin() + 8, peer.bytes.begin());
}

ibv_wr_opcode opcode_of(Operation operation) {
  switch (operation) {
    case Operation::Write:
      return IBV_WR_RDMA_WRITE;
    case Operation::WriteImmediate:
      return IBV_WR_RDMA_WRITE_WITH_IMM;
    case Operation::Read:
      return IBV_WR_RDMA_READ;
    case Operation::Send:
      return IBV_WR_SEND;
    case Operation::FetchAndAdd:
      return IBV_WR_ATOMIC_FETCH_AND_ADD;
    case Operation::CompareAndSwap:
      return IBV_WR_ATOMIC_CMP_AND_SWP;
  }
  return IBV_WR_RDMA_WRITE;
}

void set_remote(ibv_send_wr& raw, const SendRequest& request) {
  if (is_atomic(request.operation)) {
    raw.wr.atomic = {.remote_addr = request.remote_address,
                     .compare_add = request.compare_or_add,
                     .swap = request.swap,
                     .rkey = request.remote_key};
  } else {
    raw.wr.rdma = {.remote_addr = request.remote_address, .rkey = request.remote_key};
  }
}

ibv_sge segment_of(const LocalMemory& memory) {
  return {.addr = memory.address, .length = memory.bytes, .lkey = memory.key};
}

// Some devices take a segment of length 0 for one of 2 GiB.
int segments_in(const LocalMemory& memory) { return memory.bytes == 0 ? 0 : 1; }

}  // namespace

CompletionQueue::CompletionQueue(const EndpointParts& parts, Owned<ibv_comp_channel> channel,
                                 Owned<ibv_cq> queue)
    : api_(parts.api),
      device_(parts.device),
      channel_(std::move(channel)),
      queue_(std::move(queue)) {}

Result<std::unique_ptr<CompletionQueue>> CompletionQueue::open(const EndpointParts& parts,
                                                               int depth, bool events) {
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
  // Uninitialised: the device fills in the entries that it returns.
  std::array<ibv_wc, kCompletionsPerPoll> raw;
  const int found =
      ibv_poll_cq(queue_.get(), static_cast<int>(std::min(into.size(), raw.size())), raw.data());
  for (int index = 0; index < found; ++index) {
    const auto at = static_cast<std::size_t>(index);
    keep(raw[at], into[at]);
  }
  return found < 0 ? -EIO : found;
}

Result<> CompletionQueue::wait(const net::Deadline& deadline) {
  if (!channel_) {
    if (deadline.over()) {
      return fail(ErrorKind::Timeout, "wait for completion", device_, "no answer in time");
    }
    return {};
  }
  TRY(net::wait_for(channel_->fd, POLLIN, deadline, "wait for completion", device_));
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

QueuePair::QueuePair(const EndpointParts& parts, const EndpointOptions& options, int index,
                     Owned<ibv_qp> pair)
    : parts_(parts),
      options_(options),
      index_(index),
      pair_(std::move(pair)),
      handle_(nullptr, parts.api->destroy_ah),
      address_{.number = pair_->qp_num, .first_packet = any_packet_number()} {}

Result<std::unique_ptr<QueuePair>> QueuePair::open(const EndpointParts& parts,
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
    // Old libraries return -1 and leave the reason in errno.
    return fail(refused_path(code > 0 ? code : errno, operation, parts_.device));
  }
  return {};
}

ibv_ah_attr QueuePair::route_to(const EndpointAddress& peer, const PathOptions& path) const {
  ibv_ah_attr route{};
  route.dlid = peer.lid;
  route.sl = byte_of(path.service_level);
  route.port_num = byte_of(options_.port);
  if (leaves_subnet(parts_.port, parts_.gid, peer.gid)) {
    route.is_global = 1;
    std::ranges::copy(peer.gid.bytes, route.grh.dgid.raw);
    route.grh.sgid_index = byte_of(options_.gid_index);
    route.grh.hop_limit = byte_of(path.hop_limit);
    route.grh.traffic_class = byte_of(path.traffic_class);
    route.grh.flow_label = path.flow_label;
  }
  return route;
}

Result<> QueuePair::connect(const EndpointAddress& peer, const QueueAddress& queue,
                            const PathOptions& path) {
  peer_ = queue;
  TRY(ready_to_receive(peer, queue, path));
  TRY(ready_to_send(path));
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

Result<> QueuePair::can_carry(const SendRequest& request) const {
  if (!carries(options_.transport, request.operation)) {
    return fail(ErrorKind::Usage, "lay out requests", parts_.device,
                fmt::format("{} does not carry this operation", name_of(options_.transport)),
                "choose RC");
  }
  if (request.inlined && request.local.bytes > static_cast<unsigned>(options_.inline_bytes)) {
    return fail(ErrorKind::Usage, "lay out requests", parts_.device,
                fmt::format("{} bytes inline, where the queue takes {}", request.local.bytes,
                            options_.inline_bytes));
  }
  if (options_.transport == Transport::Ud && !handle_) {
    return fail(ErrorKind::Usage, "lay out requests", parts_.device,
                "over UD a peer has to be known before");
  }
  return {};
}

ibv_send_wr QueuePair::raw_request(const SendRequest& request, std::size_t place) {
  ibv_send_wr raw{};
  raw.wr_id = request_number(index_, place);
  raw.sg_list = &send_memory_[place];
  raw.num_sge = segments_in(request.local);
  raw.opcode = opcode_of(request.operation);
  raw.send_flags = request.inlined ? unsigned{IBV_SEND_INLINE} : 0U;
  raw.imm_data = htonl(request.immediate);
  if (options_.transport == Transport::Ud) {
    raw.wr.ud = {.ah = handle_.get(), .remote_qpn = peer_.number, .remote_qkey = kQueueKey};
  } else {
    set_remote(raw, request);
  }
  return raw;
}

Result<> QueuePair::lay_out_sends(std::span<const SendRequest> ring) {
  sends_.clear();
  send_memory_.resize(ring.size());
  for (std::size_t place = 0; place < ring.size(); ++place) {
    TRY(can_carry(ring[place]));
    send_memory_[place] = segment_of(ring[place].local);
    sends_.push_back(raw_request(ring[place], place));
  }
  return {};
}

Result<> QueuePair::lay_out_receives(std::span<const LocalMemory> ring) {
  receives_.assign(ring.size(), ibv_recv_wr{});
  receive_memory_.resize(ring.size());
  for (std::size_t place = 0; place < ring.size(); ++place) {
    receive_memory_[place] = segment_of(ring[place]);
    receives_[place].wr_id = request_number(index_, place);
    receives_[place].sg_list = &receive_memory_[place];
    receives_[place].num_sge = segments_in(ring[place]);
  }
  return {};
}

int QueuePair::post_sends(std::size_t first, std::size_t count, bool signal) {
  if (count == 0 || first >= sends_.size() || count > sends_.size() - first) {
    return count == 0 ? 0 : EINVAL;
  }
  for (std::size_t place = first; place + 1 < first + count; ++place) {
    sends_[place].next = &sends_[place + 1];
  }
  ibv_send_wr& last = sends_[first + count - 1];
  last.next = nullptr;
  const unsigned unsignaled = last.send_flags;
  last.send_flags = signal ? unsignaled | IBV_SEND_SIGNALED : unsignaled;
  ibv_send_wr* refused = nullptr;
  const int code = ibv_post_send(pair_.get(), &sends_[first], &refused);
  last.send_flags = unsignaled;
  return code < 0 ? EIO : code;
}

int QueuePair::post_receives(std::size_t first, std::size_t count) {
  if (count == 0 || first >= receives_.size() || count > receives_.size() - first) {
    return count == 0 ? 0 : EINVAL;
  }
  for (std::size_t place = first; place + 1 < first + count; ++place) {
    receives_[place].next = &receives_[place + 1];
  }
  receives_[first + count - 1].next = nullptr;
  ibv_recv_wr* refused = nullptr;
  const int code = ibv_post_recv(pair_.get(), &receives_[first], &refused);
  return code < 0 ? EIO : code;
}

}  // namespace chokepoint::rdma::verbs
