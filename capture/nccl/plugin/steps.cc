#include "capture/nccl/plugin/steps.h"

#include "capture/nccl/plugin/clocks.h"
#include "capture/nccl/plugin/process.h"

namespace chokepoint::capture::nccl::plugin {
namespace {

// The Proxy it belongs to, if that is still under way.
Entry* proxy_of(const Entry& step) {
  const std::uint64_t bits = step.parent.load(kRelaxed);
  if (!handle::is(handle::kEntry, bits)) {
    return nullptr;
  }
  const Handle parts = handle::unpack(bits);
  Entry* entry = process().lanes.entry(parts);
  if (entry == nullptr) {
    return nullptr;
  }
  const EntryState state = EntryState::of(entry->state.load(std::memory_order_acquire));
  const bool is_it =
      state.use == parts.use && state.what == What::Proxy && state.phase == Phase::Live;
  return is_it ? entry : nullptr;
}

Word* sum_of(Entry::Rest::Proxy& proxy, State wait) {
  switch (wait) {
    case State::SendGpuWait:
    case State::ReceiveGpuWait:
      return &proxy.gpu_ns;
    case State::SendWait:
    case State::ReceiveWait:
      return &proxy.network_ns;
    case State::SendPeerWait:
      return &proxy.peer_ns;
    case State::ReceiveFlushWait:
      return &proxy.flush_ns;
    default:
      return nullptr;
  }
}

// What ends with these is the wait for data: of the own GPU to send, of the network to receive.
bool brings_data(State wait) { return wait == State::SendGpuWait || wait == State::ReceiveWait; }

void end_wait(const Entry& step, std::uint64_t now_ns) {
  const auto wait = static_cast<State>(step.rest.step.wait.load(kRelaxed));
  Entry* entry = proxy_of(step);
  Word* sum = entry == nullptr ? nullptr : sum_of(entry->rest.proxy, wait);
  if (sum == nullptr) {
    return;
  }
  sum->fetch_add(now_ns - step.rest.step.since_ns.load(kRelaxed), kRelaxed);
  if (brings_data(wait) && entry->rest.proxy.first_data_ns.load(kRelaxed) == 0) {
    entry->rest.proxy.first_data_ns.store(now_ns, kRelaxed);
  }
}

bool is_wait(int state) {
  Entry::Rest::Proxy any;
  return sum_of(any, static_cast<State>(state)) != nullptr;
}

// Only with these the size is this step's; with others it may still be that of one before.
bool tells_size(State state) {
  return state == State::SendWait || state == State::ReceiveFlushWait;
}

}  // namespace

void begin_step(Entry& step) {
  step.rest.step.wait.store(0, kRelaxed);
  step.rest.step.since_ns.store(0, kRelaxed);
  step.rest.step.transferred.store(0, kRelaxed);
}

void change_step(Entry& step, int state, const StateArguments* arguments) {
  // While a receiver gives no credit, NCCL says so each time it looks.
  const auto wait = static_cast<std::uint64_t>(state);
  if (!is_wait(state) || step.rest.step.wait.load(kRelaxed) == wait) {
    return;
  }
  const std::uint64_t now = now_ns();
  end_wait(step, now);
  step.rest.step.wait.store(wait, kRelaxed);
  step.rest.step.since_ns.store(now, kRelaxed);
  if (arguments != nullptr && tells_size(static_cast<State>(state))) {
    step.rest.step.transferred.store(arguments->transferred, kRelaxed);
  }
}

void end_step(Entry& step, std::uint64_t now_ns) {
  end_wait(step, now_ns);
  Entry* entry = proxy_of(step);
  if (entry != nullptr && step.rest.step.wait.load(kRelaxed) != 0) {
    entry->rest.proxy.steps.fetch_add(1, kRelaxed);
    entry->rest.proxy.transferred.fetch_add(step.rest.step.transferred.load(kRelaxed), kRelaxed);
  }
}

}  // namespace chokepoint::capture::nccl::plugin
