// The functions that take the place of libibverbs: what rdma/verbs calls in its table and in its
// contexts' tables of operations.
#include <arpa/inet.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "tests/rdma/fakes/fabric_state.h"

namespace chokepoint::fakes {
namespace {

namespace verbs = rdma::verbs;
using Hold = std::lock_guard<std::mutex>;
using verbs::Operation;
using verbs::Transport;

constexpr std::size_t kMaxInline = 512;  // of a queue pair

FabricDevice& device_of(ibv_context* context) {
  return *static_cast<FabricDevice*>(context->device);
}

std::mutex& lock_of(ibv_context* context) { return device_of(context).state->lock; }

int poll_cq(ibv_cq* raw, int most, ibv_wc* into) {
  FabricQueue& queue = *static_cast<FabricQueue*>(raw);
  if (queue.waiting == 0) {
    std::this_thread::yield();  // whom a real one waits for has a processor of its own
    return 0;
  }
  const Hold hold(queue.device->state->lock);
  if (queue.device->faults.poll != 0) {
    return -queue.device->faults.poll;
  }
  most = std::min(most, queue.device->faults.most_per_poll);
  int count = 0;
  for (; count < most && !queue.entries.empty(); ++count) {
    const FabricQueue::Entry& entry = queue.entries.front();
    into[count] = entry.completion;
    entry.pair->outstanding -= entry.retires;
    queue.device->traffic.completions += entry.pair->sends == &queue ? 1 : 0;
    queue.entries.pop_front();
  }
  queue.waiting = queue.entries.size();
  return count;
}

int req_notify_cq(ibv_cq* raw, int /*solicited_only*/) {
  const Hold hold(lock_of(raw->context));
  static_cast<FabricQueue*>(raw)->is_armed = true;
  return 0;
}

Operation operation_of(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return Operation::WriteImmediate;
    case IBV_WR_RDMA_READ:
      return Operation::Read;
    case IBV_WR_SEND:
      return Operation::Send;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return Operation::FetchAndAdd;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return Operation::CompareAndSwap;
    default:
      return Operation::Write;
  }
}

verbs::LocalMemory memory_of(const ibv_sge* segments, int count) {
  return count == 0
             ? verbs::LocalMemory{}
             : verbs::LocalMemory{
                   .address = segments->addr, .bytes = segments->length, .key = segments->lkey};
}

verbs::SendRequest request_of(const ibv_send_wr& raw) {
  verbs::SendRequest request{.operation = operation_of(raw.opcode),
                             .local = memory_of(raw.sg_list, raw.num_sge),
                             .immediate = ntohl(raw.imm_data),
                             .inlined = (raw.send_flags & IBV_SEND_INLINE) != 0};
  if (verbs::is_atomic(request.operation)) {
    request.remote_address = raw.wr.atomic.remote_addr;
    request.remote_key = raw.wr.atomic.rkey;
    request.compare_or_add = raw.wr.atomic.compare_add;
    request.swap = raw.wr.atomic.swap;
  } else {
    request.remote_address = raw.wr.rdma.remote_addr;
    request.remote_key = raw.wr.rdma.rkey;
  }
  return request;
}

void start(FabricPair& pair, const ibv_send_wr& raw) {
  Message message{.request = request_of(raw),
                  .wr_id = raw.wr_id,
                  .aloud = (raw.send_flags & IBV_SEND_SIGNALED) != 0,
                  .number = pair.device->traffic.messages++};
  if (message.request.inlined) {
    const auto* from = reinterpret_cast<const std::byte*>(  // NOLINT(performance-no-int-to-ptr)
        message.request.local.address);
    message.inlined.assign(from, from + message.request.local.bytes);
  }
  if (pair.transport == Transport::Ud) {
    pair.peer = raw.wr.ud.remote_qpn;
  }
  message.ready = FabricClock::now() + pair.device->faults.delay;
  message.give_up = message.ready + pair.device->state->deadline;
  pair.under_way.push_back(std::move(message));
}

int check_send(const FabricPair& pair, const ibv_send_wr& raw, std::size_t count) {
  if (pair.device->faults.post != 0) {
    return pair.device->faults.post;
  }
  const bool fits = (raw.send_flags & IBV_SEND_INLINE) == 0 ||
                    memory_of(raw.sg_list, raw.num_sge).bytes <= pair.inline_bytes;
  if (!pair.is_ready || !fits) {
    return EINVAL;
  }
  return pair.outstanding + count > pair.send_depth ? ENOMEM : 0;
}

// All of a chain or none: a card posts those before the one that it refuses.
int post_send(ibv_qp* raw, ibv_send_wr* first, ibv_send_wr** refused) {
  FabricPair& pair = *static_cast<FabricPair*>(raw);
  FakeFabric::State& state = *pair.device->state;
  const Hold hold(state.lock);
  std::size_t count = 0;
  for (ibv_send_wr* each = first; each != nullptr; each = each->next) {
    *refused = each;
    if (const int code = check_send(pair, *each, ++count); code != 0) {
      return code;
    }
  }
  for (ibv_send_wr* each = first; each != nullptr; each = each->next) {
    start(pair, *each);
  }
  FakeTraffic& traffic = pair.device->traffic;
  ++traffic.posts;
  pair.outstanding += count;
  traffic.largest_outstanding =
      std::max<std::uint64_t>(traffic.largest_outstanding, pair.outstanding);
  deliver(state, pair);
  state.changed.notify_all();
  return 0;
}

int post_recv(ibv_qp* raw, ibv_recv_wr* first, ibv_recv_wr** refused) {
  FabricPair& pair = *static_cast<FabricPair*>(raw);
  FakeFabric::State& state = *pair.device->state;
  const Hold hold(state.lock);
  FakeTraffic& traffic = pair.device->traffic;
  for (ibv_recv_wr* each = first; each != nullptr; each = each->next) {
    if (pair.posted_receives.size() == pair.receive_depth) {
      *refused = each;
      return ENOMEM;
    }
    pair.posted_receives.push_back(
        {.wr_id = each->wr_id, .memory = memory_of(each->sg_list, each->num_sge)});
    ++traffic.receives_posted;
  }
  ++traffic.receive_posts;
  if (FabricPair* peer = state.pair(pair.peer); peer != nullptr) {
    deliver(state, *peer);
  }
  return 0;
}

ibv_context* open_device(ibv_device* raw) {
  FabricDevice& device = *static_cast<FabricDevice*>(raw);
  if (errno = device.faults.open; errno != 0) {
    return nullptr;
  }
  auto* context = new ibv_context{};
  context->device = raw;
  context->ops.poll_cq = poll_cq;
  context->ops.req_notify_cq = req_notify_cq;
  context->ops.post_send = post_send;
  context->ops.post_recv = post_recv;
  return context;
}

int close_device(ibv_context* context) {
  delete context;
  return 0;
}

int query_device(ibv_context* context, ibv_device_attr* into) {
  const verbs::DeviceLimits& limits = device_of(context).what.limits;
  into->max_qp = limits.queue_pairs;
  into->max_qp_wr = limits.depth;
  into->max_cqe = limits.completions;
  into->max_qp_rd_atom = limits.reads_as_target;
  into->max_qp_init_rd_atom = limits.reads_as_source;
  into->atomic_cap = limits.atomics ? IBV_ATOMIC_HCA : IBV_ATOMIC_NONE;
  into->phys_port_cnt = 1;
  return 0;
}

int query_port(ibv_context* context, std::uint8_t /*number*/, _compat_ibv_port_attr* into) {
  const Hold hold(lock_of(context));
  const verbs::Port& port = device_of(context).what.port;
  auto& attributes = *reinterpret_cast<ibv_port_attr*>(into);
  attributes.state = port.state == verbs::PortState::Active ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  attributes.active_mtu = verbs::mtu_of(port.active_mtu_bytes);
  attributes.max_mtu = verbs::mtu_of(port.max_mtu_bytes);
  attributes.gid_tbl_len = static_cast<int>(port.gids.size());
  attributes.lid = port.lid;
  attributes.link_layer = port.ethernet ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
  return 0;
}

std::uint32_t type_of(verbs::GidType type) {
  return type == verbs::GidType::RoceV2   ? IBV_GID_TYPE_ROCE_V2
         : type == verbs::GidType::RoceV1 ? IBV_GID_TYPE_ROCE_V1
                                          : IBV_GID_TYPE_IB;
}

ssize_t query_gid_table(ibv_context* context, ibv_gid_entry* into, std::size_t most,
                        std::uint32_t /*flags*/, std::size_t /*entry_size*/) {
  const Hold hold(lock_of(context));
  const std::vector<verbs::GidEntry>& gids = device_of(context).what.port.gids;
  const std::size_t count = std::min(most, gids.size());
  for (std::size_t i = 0; i < count; ++i) {
    into[i] = {.gid = {},
               .gid_index = static_cast<std::uint32_t>(gids[i].index),
               .port_num = 1,
               .gid_type = type_of(gids[i].type),
               .ndev_ifindex = gids[i].interface_index};
    std::ranges::copy(gids[i].gid.bytes, into[i].gid.raw);
  }
  return static_cast<ssize_t>(count);
}

ibv_pd* alloc_pd(ibv_context* context) { return new ibv_pd{.context = context, .handle = 0}; }

int dealloc_pd(ibv_pd* domain) {
  delete domain;
  return 0;
}

ibv_mr* reg_mr_iova2(ibv_pd* domain, void* address, std::size_t bytes, std::uint64_t /*iova*/,
                     unsigned access) {
  const Hold hold(lock_of(domain->context));
  FabricDevice& device = device_of(domain->context);
  if (errno = device.faults.register_memory; errno != 0) {
    return nullptr;
  }
  auto* region = new ibv_mr{};
  region->context = domain->context;
  region->lkey = region->rkey = device.state->next_key++;
  device.regions[region->rkey] = {.address = reinterpret_cast<std::uint64_t>(address),
                                  .bytes = bytes,
                                  .peers = {.write = (access & IBV_ACCESS_REMOTE_WRITE) != 0,
                                            .read = (access & IBV_ACCESS_REMOTE_READ) != 0,
                                            .atomic = (access & IBV_ACCESS_REMOTE_ATOMIC) != 0}};
  ++device.traffic.regions;
  return region;
}

ibv_mr* reg_mr(ibv_pd* domain, void* address, std::size_t bytes, int access) {
  return reg_mr_iova2(domain, address, bytes, 0, static_cast<unsigned>(access));
}

int dereg_mr(ibv_mr* region) {
  {
    const Hold hold(lock_of(region->context));
    FabricDevice& device = device_of(region->context);
    device.regions.erase(region->rkey);
    --device.traffic.regions;
  }
  delete region;
  return 0;
}

ibv_comp_channel* create_comp_channel(ibv_context* context) {
  auto* channel = new FabricChannel{};
  channel->context = context;
  channel->fd = eventfd(0, EFD_SEMAPHORE);
  return channel;
}

int destroy_comp_channel(ibv_comp_channel* channel) {
  close(channel->fd);
  delete static_cast<FabricChannel*>(channel);
  return 0;
}

ibv_cq* create_cq(ibv_context* context, int depth, void* /*owner*/, ibv_comp_channel* channel,
                  int /*vector*/) {
  if (depth > device_of(context).what.limits.completions) {
    errno = EINVAL;
    return nullptr;
  }
  auto* queue = new FabricQueue{};
  queue->context = context;
  queue->channel = channel;
  queue->device = &device_of(context);
  if (channel != nullptr) {
    static_cast<FabricChannel*>(channel)->queue = queue;
  }
  return queue;
}

int destroy_cq(ibv_cq* queue) {
  delete static_cast<FabricQueue*>(queue);
  return 0;
}

int get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** context) {
  std::uint64_t count = 0;
  if (read(channel->fd, &count, sizeof count) < 0) {
    return -1;
  }
  *queue = static_cast<FabricChannel*>(channel)->queue;
  *context = nullptr;
  return 0;
}

void ack_cq_events(ibv_cq* /*queue*/, unsigned /*count*/) {}

ibv_qp* create_qp(ibv_pd* domain, ibv_qp_init_attr* wanted) {
  const Hold hold(lock_of(domain->context));
  FabricDevice& device = device_of(domain->context);
  const auto depth = static_cast<std::uint32_t>(device.what.limits.depth);
  const ibv_qp_cap& size = wanted->cap;
  const bool fits =
      size.max_send_wr <= depth && size.max_recv_wr <= depth && size.max_inline_data <= kMaxInline;
  if (errno = fits ? device.faults.create_queue_pair : EINVAL; errno != 0) {
    return nullptr;
  }
  auto* pair = new FabricPair{};
  pair->context = domain->context;
  pair->qp_num = device.state->next_pair++;
  pair->transport = wanted->qp_type == IBV_QPT_RC   ? Transport::Rc
                    : wanted->qp_type == IBV_QPT_UC ? Transport::Uc
                                                    : Transport::Ud;
  pair->send_depth = size.max_send_wr;
  pair->receive_depth = size.max_recv_wr;
  pair->inline_bytes = size.max_inline_data;
  pair->device = &device;
  pair->sends = static_cast<FabricQueue*>(wanted->send_cq);
  pair->receives = static_cast<FabricQueue*>(wanted->recv_cq);
  device.state->pairs[pair->qp_num] = pair;
  ++device.traffic.queue_pairs;
  ++device.traffic.opened;
  return pair;
}

int destroy_qp(ibv_qp* raw) {
  auto* pair = static_cast<FabricPair*>(raw);
  FakeFabric::State& state = *pair->device->state;
  {
    const Hold hold(state.lock);
    state.pairs.erase(pair->qp_num);
    --pair->device->traffic.queue_pairs;
    for (FabricQueue* queue : {pair->sends, pair->receives}) {
      std::erase_if(queue->entries, [&](const auto& entry) { return entry.pair == pair; });
      queue->waiting = queue->entries.size();
    }
    state.changed.notify_all();
  }
  delete pair;
  return 0;
}

int modify_qp(ibv_qp* raw, ibv_qp_attr* attributes, int mask) {
  FabricPair& pair = *static_cast<FabricPair*>(raw);
  FakeFabric::State& state = *pair.device->state;
  const Hold hold(state.lock);
  if (attributes->qp_state == IBV_QPS_RTR && pair.device->faults.connect != 0) {
    return pair.device->faults.connect;
  }
  if ((mask & IBV_QP_DEST_QPN) != 0) {
    pair.peer = attributes->dest_qp_num;
  }
  if ((mask & IBV_QP_RNR_RETRY) != 0) {
    pair.waits_for_ever = attributes->rnr_retry == 7;
  }
  if (attributes->qp_state == IBV_QPS_RTS) {
    pair.is_ready = true;
    ++pair.device->traffic.connected;
    state.changed.notify_all();
  }
  return 0;
}

ibv_ah* create_ah(ibv_pd* domain, ibv_ah_attr* /*route*/) {
  return new ibv_ah{.context = domain->context, .pd = domain, .handle = 0};
}

int destroy_ah(ibv_ah* handle) {
  delete handle;
  return 0;
}

}  // namespace

void FabricQueue::push(const Entry& entry) {
  entries.push_back(entry);
  waiting = entries.size();
  if (is_armed && channel != nullptr) {
    is_armed = false;
    ++device->traffic.wakes;
    const std::uint64_t one = 1;
    std::ignore = write(channel->fd, &one, sizeof one);
  }
}

std::shared_ptr<const verbs::Api> fake_api() {
  auto api = std::make_shared<verbs::Api>();
  api->open_device = open_device;
  api->close_device = close_device;
  api->query_device = query_device;
  api->query_port = query_port;
  api->query_gid_table = query_gid_table;
  api->alloc_pd = alloc_pd;
  api->dealloc_pd = dealloc_pd;
  api->reg_mr = reg_mr;
  api->dereg_mr = dereg_mr;
  api->create_comp_channel = create_comp_channel;
  api->destroy_comp_channel = destroy_comp_channel;
  api->create_cq = create_cq;
  api->destroy_cq = destroy_cq;
  api->get_cq_event = get_cq_event;
  api->ack_cq_events = ack_cq_events;
  api->create_qp = create_qp;
  api->destroy_qp = destroy_qp;
  api->modify_qp = modify_qp;
  api->create_ah = create_ah;
  api->destroy_ah = destroy_ah;
  api->reg_mr_iova2 = reg_mr_iova2;
  return api;
}

}  // namespace chokepoint::fakes
