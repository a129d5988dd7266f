// The rings of a queue pair: laid out once, posted by place.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <cerrno>

#include "rdma/verbs/place.h"
#include "rdma/verbs/queue_key.h"
#include "rdma/verbs/queue_pair.h"

namespace chokepoint::rdma::verbs {
namespace {

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

void aim(ibv_send_wr& raw, const SendRequest& request) {
  if (is_atomic(request.operation)) {
    raw.wr.atomic = {.remote_addr = request.remote_address,
                     .compare_add = request.compare_or_add,
                     .swap = request.swap,
                     .rkey = request.remote_key};
  } else {
    raw.wr.rdma = {.remote_addr = request.remote_address, .rkey = request.remote_key};
  }
}

ibv_sge piece_of(const LocalMemory& memory) {
  return {.addr = memory.address, .length = memory.bytes, .lkey = memory.key};
}

// Some devices take a piece of no length for one of 2 GiB.
int pieces_in(const LocalMemory& memory) { return memory.bytes == 0 ? 0 : 1; }

}  // namespace

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

ibv_send_wr QueuePair::laid_out(const SendRequest& request, std::size_t place) {
  ibv_send_wr raw{};
  raw.wr_id = request_number(index_, place);
  raw.sg_list = &send_memory_[place];
  raw.num_sge = pieces_in(request.local);
  raw.opcode = opcode_of(request.operation);
  raw.send_flags = request.inlined ? unsigned{IBV_SEND_INLINE} : 0U;
  raw.imm_data = htonl(request.immediate);
  if (options_.transport == Transport::Ud) {
    raw.wr.ud = {.ah = handle_.get(), .remote_qpn = peer_.number, .remote_qkey = kQueueKey};
  } else {
    aim(raw, request);
  }
  return raw;
}

Result<> QueuePair::lay_out_sends(std::span<const SendRequest> ring) {
  sends_.clear();
  send_memory_.resize(ring.size());
  for (std::size_t place = 0; place < ring.size(); ++place) {
    if (auto carried = can_carry(ring[place]); !carried) {
      return carried;
    }
    send_memory_[place] = piece_of(ring[place].local);
    sends_.push_back(laid_out(ring[place], place));
  }
  return {};
}

Result<> QueuePair::lay_out_receives(std::span<const LocalMemory> ring) {
  receives_.assign(ring.size(), ibv_recv_wr{});
  receive_memory_.resize(ring.size());
  for (std::size_t place = 0; place < ring.size(); ++place) {
    receive_memory_[place] = piece_of(ring[place]);
    receives_[place].wr_id = request_number(index_, place);
    receives_[place].sg_list = &receive_memory_[place];
    receives_[place].num_sge = pieces_in(ring[place]);
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
  const unsigned quiet = last.send_flags;
  last.send_flags = signal ? quiet | IBV_SEND_SIGNALED : quiet;
  ibv_send_wr* refused = nullptr;
  const int code = ibv_post_send(pair_.get(), &sends_[first], &refused);
  last.send_flags = quiet;
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
