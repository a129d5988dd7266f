#include "capture/nccl/plugin/calls.h"
#include "capture/nccl/plugin/clocks.h"
#include "capture/nccl/plugin/mask.h"
#include "capture/nccl/plugin/parts.h"
#include "capture/nccl/plugin/passing.h"
#include "capture/nccl/plugin/process.h"

namespace chokepoint::capture::nccl::plugin {
namespace {

What what_of(std::uint64_t type) {
  switch (type) {
    case event::kCollective:
      return What::Collective;
    case event::kMessage:
      return What::Message;
    case event::kProxy:
      return What::Proxy;
    case event::kStep:
      return What::Step;
    case event::kKernel:
      return What::Kernel;
    default:
      return What::Foreign;
  }
}

std::uint64_t type_of(const Descriptor& descriptor, const Communicator& communicator) {
  const bool is_old = communicator.version.load(kRelaxed) == 4;
  return is_old ? descriptor.type & 0xff : descriptor.type;
}

// A proxy may work for another process, whose handles mean nothing here.
std::uint64_t parent_of(const Descriptor& descriptor, What what, std::uint64_t communicator) {
  const std::uint64_t parent = handle::bits_of(descriptor.parent);
  const bool is_strange =
      what == What::Proxy && static_cast<std::uint64_t>(descriptor.proxy.process) != process().id;
  if (parent == 0 || is_strange) {
    return 0;
  }
  if (find_parent(parent, communicator) != nullptr) {
    return parent;
  }
  if (!handle::is(handle::kEntry, parent)) {
    process().refuse();
  }
  return 0;
}

// A Proxy's begin is when its turn comes, which NCCL says later, and a Step's is that of its waits.
bool begin_is_kept(What what) {
  return what == What::Collective || what == What::Message || what == What::Kernel;
}

struct Found {
  Entry* entry = nullptr;
  EntryState state = {};
  Communicator* communicator = nullptr;
};

// What a handle means, if it is under way in a communicator that is still there.
Found find(void* handle) {
  const std::uint64_t bits = handle::bits_of(handle);
  if (!handle::is(handle::kEntry, bits)) {
    return {};
  }
  const Handle parts = handle::unpack(bits);
  Entry* entry = process().lanes.entry(parts);
  if (entry == nullptr) {
    return {};
  }
  const EntryState state = EntryState::of(entry->state.load(std::memory_order_acquire));
  if (state.use != parts.use || state.phase != Phase::Live) {
    return {};
  }
  Communicator* communicator = process().communicators.find(entry->communicator.load(kRelaxed));
  return {.entry = communicator == nullptr ? nullptr : entry,
          .state = state,
          .communicator = communicator};
}

struct Beginning {
  Communicator& communicator;
  std::uint64_t context = 0;
  std::uint64_t type = 0;
  bool is_ours = false;
  bool is_theirs = false;
};

Entry* take_entry(Lane& lane, What what, EntryState& state) {
  const auto is_gone = [](std::uint64_t communicator) {
    return process().communicators.find(communicator) == nullptr;
  };
  Shelf& shelf = what == What::Step || what == What::Kernel ? lane.brief : lane.lasting;
  return take(*lane.entries.load(kRelaxed), shelf, what, state, is_gone);
}

std::uint64_t handle_of(const Lane& lane, const Entry& entry, const EntryState& state) {
  const auto place = &entry - lane.entries.load(kRelaxed)->data();
  return handle::pack(
      handle::kEntry,
      {.use = state.use, .lane = lane.number, .place = static_cast<std::uint32_t>(place)});
}

void* begin_event(const Beginning& beginning, const Descriptor& descriptor) {
  Lane* lane = process().lanes.mine();
  const What what = beginning.is_ours ? what_of(beginning.type) : What::Foreign;
  EntryState state;
  Entry* entry = lane == nullptr ? nullptr : take_entry(*lane, what, state);
  if (entry == nullptr) {
    process().lose();
    return nullptr;
  }
  const std::uint64_t bits = handle_of(*lane, *entry, state);
  const std::uint64_t now = begin_is_kept(what) ? now_ns() : coarse_now_ns();
  keep_mask(beginning.communicator, lane, now);
  entry->communicator.store(beginning.context, kRelaxed);
  begin({.entry = *entry,
         .what = what,
         .communicator = beginning.communicator,
         .lane = lane,
         .now_ns = now},
        descriptor, handle::id_of(bits), parent_of(descriptor, what, beginning.context));
  entry->next.store(beginning.is_theirs ? pass_start(beginning.communicator, beginning.context,
                                                     descriptor, beginning.type)
                                        : 0,
                    std::memory_order_release);
  entry->state.store(state.in(Phase::Live).word(), std::memory_order_release);
  return handle::pointer_of(bits);
}

}  // namespace

int start(void* context, void** handle, Descriptor* descriptor) {
  if (handle != nullptr) {
    *handle = nullptr;
  }
  if (process().lanes.is_disowned()) {
    return 0;
  }
  const std::uint64_t bits = handle::bits_of(context);
  Communicator* communicator = process().communicators.find(bits);
  if (communicator == nullptr || handle == nullptr || descriptor == nullptr) {
    process().refuse();
    return 0;
  }
  const std::uint64_t type = type_of(*descriptor, *communicator);
  NextTable* next = communicator->next.load(kRelaxed);
  const Beginning beginning = {
      .communicator = *communicator,
      .context = bits,
      .type = type,
      .is_ours = what_of(type) != What::Foreign && process().is_recording(),
      .is_theirs = next != nullptr && wants(*next, type)};
  if (beginning.is_ours || beginning.is_theirs) {
    *handle = begin_event(beginning, *descriptor);
  }
  return 0;
}

int stop(void* handle) {
  if (process().lanes.is_disowned()) {
    return 0;
  }
  const Found found = find(handle);
  std::uint64_t word = found.state.word();
  if (found.entry == nullptr ||
      !found.entry->state.compare_exchange_strong(word, found.state.in(Phase::Busy).word(),
                                                  std::memory_order_acq_rel)) {
    process().refuse();
    return 0;
  }
  const What what = found.state.what;
  const bool is_timed = what == What::Proxy || what == What::Step || what == What::Kernel;
  const bool is_kept = what == What::Proxy || what == What::Kernel;
  end({.entry = *found.entry,
       .what = what,
       .communicator = *found.communicator,
       .lane = is_kept ? process().lanes.mine() : nullptr,
       .now_ns = is_timed ? now_ns() : 0});
  pass_stop(*found.communicator, found.entry->next.load(kRelaxed));
  found.entry->state.store(found.state.in(Phase::Over).word(), std::memory_order_release);
  return 0;
}

int record_state(void* handle, int state, StateArguments* arguments) {
  if (process().lanes.is_disowned()) {
    return 0;
  }
  const Found found = find(handle);
  if (found.entry == nullptr) {
    process().refuse();
    return 0;
  }
  const std::uint64_t its = found.entry->next.load(std::memory_order_acquire);
  change(*found.entry, found.state.what, state, arguments);
  if (found.entry->state.load(std::memory_order_acquire) == found.state.word()) {
    pass_state(*found.communicator, its, state, arguments);
  }
  return 0;
}

}  // namespace chokepoint::capture::nccl::plugin
