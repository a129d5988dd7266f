#include <arpa/inet.h>

#include <cstring>

#include "tests/rdma/fakes/fabric_state.h"

namespace chokepoint::fakes {
namespace {

using rdma::verbs::LocalMemory;
using rdma::verbs::Operation;
using rdma::verbs::SendRequest;
using rdma::verbs::Transport;

constexpr int kWrongOperation = 2;
constexpr int kWrongLength = 1;
constexpr int kWrongRequest = 9;
constexpr std::uint64_t kGlobalRouteHeader = 40;

// What becomes of a message: nothing yet, or a status.
using Fate = std::optional<int>;
constexpr Fate kWait = std::nullopt;
constexpr Fate kWell = 0;

std::byte* memory_at(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}

// As a card does: the last byte comes last, and who spins on it sees the others, too.
void copy(std::uint64_t to, const std::byte* from, std::uint64_t bytes) {
  if (bytes == 0) {
    return;
  }
  std::memcpy(memory_at(to), from, bytes - 1);
  std::atomic_ref(*memory_at(to + bytes - 1)).store(from[bytes - 1], std::memory_order_release);
}

bool reaches(const FabricDevice& device, std::uint32_t key, std::uint64_t address,
             std::uint64_t bytes) {
  const auto region = device.regions.find(key);
  return bytes == 0 || (region != device.regions.end() && region->second.holds(address, bytes));
}

bool may(const FabricDevice& device, std::uint32_t key, Operation operation) {
  const auto region = device.regions.find(key);
  const rdma::verbs::Rights needed = rdma::verbs::needed_for(operation);
  return region != device.regions.end() && region->second.peers.write >= needed.write &&
         region->second.peers.read >= needed.read && region->second.peers.atomic >= needed.atomic;
}

std::uint64_t length_of(const SendRequest& request) {
  return rdma::verbs::is_atomic(request.operation) ? 8 : request.local.bytes;
}

bool takes_receive(Operation operation) {
  return operation == Operation::Send || operation == Operation::WriteImmediate;
}

std::vector<std::byte> payload_of(const FabricPair& pair, const Message& message) {
  const LocalMemory& local = message.request.local;
  std::vector<std::byte> data = message.inlined;
  if (!message.request.inlined && local.bytes > 0) {
    data.assign(memory_at(local.address), memory_at(local.address) + local.bytes);
  }
  if (pair.device->faults.spoil && !data.empty()) {
    pair.device->faults.spoil(message.number, data);
  }
  return data;
}

// Of a request that failed the device fills in these fields alone.
ibv_wc failed(const FabricPair& pair, std::uint64_t wr_id, int status) {
  ibv_wc completion;
  std::memset(&completion, 0xa5, sizeof completion);
  completion.wr_id = wr_id;
  completion.status = static_cast<ibv_wc_status>(status);
  completion.vendor_err = pair.device->faults.vendor_error;
  return completion;
}

void receive(FabricPair& peer, const SendRequest& request, std::uint64_t bytes) {
  const bool immediate = request.operation == Operation::WriteImmediate;
  ibv_wc completion{};
  completion.wr_id = peer.posted_receives.front().wr_id;
  completion.status = IBV_WC_SUCCESS;
  completion.opcode = immediate ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
  completion.byte_len = static_cast<std::uint32_t>(bytes);
  completion.wc_flags = immediate ? unsigned{IBV_WC_WITH_IMM} : 0U;
  completion.imm_data = htonl(request.immediate);  // without the flag it means nothing
  peer.posted_receives.pop_front();
  peer.receives->push({.completion = completion, .pair = &peer});
}

// Breaks the queue pair: the rest of its receives are flushed.
void fail_receive(FabricPair& peer, int status) {
  peer.broken = true;
  for (const PostedReceive& each : peer.posted_receives) {
    peer.receives->push({.completion = failed(peer, each.wr_id, status), .pair = &peer});
    status = kFlushed;
  }
  peer.posted_receives.clear();
}

Fate send(FabricPair& pair, FabricPair& peer, const Message& message) {
  const LocalMemory slot = peer.posted_receives.front().memory;
  const std::uint64_t header = pair.transport == Transport::Ud ? kGlobalRouteHeader : 0;
  const std::uint64_t bytes = length_of(message.request) + header;
  if (bytes > slot.bytes) {
    fail_receive(peer, kWrongLength);
    return kWrongRequest;
  }
  if (!reaches(*peer.device, slot.key, slot.address, bytes)) {
    return kRemoteAccessError;
  }
  copy(slot.address + header, payload_of(pair, message).data(), bytes - header);
  receive(peer, message.request, bytes);
  return kWell;
}

std::uint64_t atomic(const SendRequest& request) {
  std::uint64_t before = 0;
  std::memcpy(&before, memory_at(request.remote_address), sizeof before);
  std::uint64_t after = before;
  if (request.operation == Operation::FetchAndAdd) {
    after = before + request.compare_or_add;
  } else if (before == request.compare_or_add) {
    after = request.swap;
  }
  std::memcpy(memory_at(request.remote_address), &after, sizeof after);
  return before;
}

Fate touch_memory(FabricPair& pair, FabricPair& peer, const Message& message) {
  const SendRequest& request = message.request;
  if (!reaches(*peer.device, request.remote_key, request.remote_address, length_of(request)) ||
      !may(*peer.device, request.remote_key, request.operation)) {
    return kRemoteAccessError;
  }
  if (rdma::verbs::is_atomic(request.operation)) {
    const std::uint64_t before = atomic(request);
    copy(request.local.address, reinterpret_cast<const std::byte*>(&before), sizeof before);
  } else if (request.operation == Operation::Read) {
    std::vector<std::byte> data(memory_at(request.remote_address),
                                memory_at(request.remote_address) + request.local.bytes);
    if (pair.device->faults.spoil && !data.empty()) {
      pair.device->faults.spoil(message.number, data);
    }
    copy(request.local.address, data.data(), data.size());
  } else {
    copy(request.remote_address, payload_of(pair, message).data(), request.local.bytes);
  }
  if (request.operation == Operation::WriteImmediate) {
    receive(peer, request, request.local.bytes);
  }
  return kWell;
}

Fate lose(FabricPair& pair) {
  ++pair.device->traffic.lost;
  return kWell;
}

// Nobody there: RC tries for a while, the others do not notice.
Fate unanswered(FabricPair& pair, const Message& message) {
  if (pair.transport != Transport::Rc) {
    return lose(pair);
  }
  return FabricClock::now() < message.give_up ? kWait : kRetriesExceeded;
}

Fate not_ready(FabricPair& pair, const Message& message) {
  ++pair.device->traffic.waits_for_receive;
  if (pair.transport != Transport::Rc) {
    return lose(pair);
  }
  const bool go_on = pair.waits_for_ever || FabricClock::now() < message.give_up;
  return go_on ? kWait : kReceiverNotReady;
}

Fate check_request(const FabricPair& pair, const Message& message) {
  const SendRequest& request = message.request;
  if (pair.device->faults.failing_message == message.number) {
    return pair.device->faults.failing_status;
  }
  if (!rdma::verbs::carries(pair.transport, request.operation)) {
    return kWrongOperation;
  }
  if (!request.inlined &&
      !reaches(*pair.device, request.local.key, request.local.address, length_of(request))) {
    return kLocalProtectionError;
  }
  return kWell;
}

Fate attempt(FakeFabric::State& state, FabricPair& pair, const Message& message) {
  if (pair.broken) {
    return kFlushed;
  }
  if (const Fate fate = check_request(pair, message); fate != kWell) {
    return fate;
  }
  if (FabricClock::now() < message.ready) {
    return kWait;
  }
  const FakeFaults& faults = pair.device->faults;
  FabricPair* peer = state.pair(pair.peer);
  const bool is_connected = peer != nullptr && !peer->broken &&
                            (peer->peer == pair.qp_num || pair.transport == Transport::Ud);
  if (faults.unplugged || !is_connected) {
    return unanswered(pair, message);
  }
  const bool unreliable = pair.transport != Transport::Rc;
  if (unreliable && faults.lose_every > 0 && (message.number + 1) % faults.lose_every == 0) {
    return lose(pair);
  }
  const Operation operation = message.request.operation;
  if (takes_receive(operation) && peer->posted_receives.empty()) {
    return not_ready(pair, message);
  }
  ++pair.device->traffic.delivered;
  return operation == Operation::Send ? send(pair, *peer, message)
                                      : touch_memory(pair, *peer, message);
}

void complete(FabricPair& pair, const Message& message, int status) {
  ++pair.unretired;
  if (message.aloud || status != 0) {
    ibv_wc completion{};
    completion.wr_id = message.wr_id;
    pair.sends->push({.completion = status == 0 ? completion : failed(pair, message.wr_id, status),
                      .pair = &pair,
                      .retires = pair.unretired});
    pair.unretired = 0;
  }
  if (status != 0 && !pair.broken) {
    fail_receive(pair, kFlushed);
  }
}

}  // namespace

void deliver(FakeFabric::State& state, FabricPair& pair) {
  bool something = false;
  while (!pair.under_way.empty()) {
    const Fate fate = attempt(state, pair, pair.under_way.front());
    if (!fate) {
      break;
    }
    complete(pair, pair.under_way.front(), *fate);
    pair.under_way.pop_front();
    something = true;
  }
  if (something) {
    state.changed.notify_all();
  }
}

bool deliver_all(FakeFabric::State& state) {
  bool waiting = false;
  for (const auto& [number, pair] : state.pairs) {
    deliver(state, *pair);
    waiting = waiting || !pair->under_way.empty();
  }
  return waiting;
}

}  // namespace chokepoint::fakes
