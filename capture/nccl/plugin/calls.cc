#include "capture/nccl/plugin/calls.h"

#include <string.h>

#include "capture/nccl/plugin/clocks.h"
#include "capture/nccl/plugin/communicators.h"
#include "capture/nccl/plugin/entries.h"
#include "capture/nccl/plugin/interface.h"
#include "capture/nccl/plugin/process.h"
#include "capture/nccl/plugin/record.h"

namespace chokepoint::capture::nccl::plugin {
namespace {

// The next profiler gets events with its own context, its own handles, and its own handles of the
// parents.

bool is_use(const Entry& entry, std::uint64_t use) {
  const EntryState state = EntryState::of(entry.state.load(std::memory_order_acquire));
  return state.use == use &&
         (state.phase == Phase::Live || state.phase == Phase::Over || state.phase == Phase::Busy);
}

// The entry that a parent's handle means, in this communicator; null where it means none.
Entry* find_parent(std::uint64_t handle, std::uint64_t communicator) {
  if (!handle::is(handle::kEntry, handle)) {
    return nullptr;
  }
  const Handle parts = handle::unpack(handle);
  Entry* entry = process().lanes.entry(parts);
  const bool is_it = entry != nullptr && is_use(*entry, parts.use) &&
                     entry->communicator.load(kRelaxed) == communicator;
  return is_it ? entry : nullptr;
}

// Checked before and after it is read, as the place may be taken meanwhile.
void* its_parent(void* parent, std::uint64_t communicator) {
  const std::uint64_t bits = handle::bits_of(parent);
  const Entry* entry = find_parent(bits, communicator);
  if (entry == nullptr) {
    return nullptr;
  }
  const std::uint64_t its = entry->next.load(std::memory_order_acquire);
  return is_use(*entry, handle::unpack(bits).use) ? handle::pointer_of(its) : nullptr;
}

constexpr std::size_t descriptor_bytes(int version) {
  return version == 4 ? kDescriptorBytes4 : version < 7 ? kDescriptorBytes5 : kDescriptorBytes7;
}

// The handle it gave; 0: none.
std::uint64_t pass_start(const Communicator& communicator, std::uint64_t handle,
                         const Descriptor& descriptor, std::uint64_t type) {
  const NextTable& next = *communicator.next.load(kRelaxed);
  const bool is_old = next.version == 4;
  Descriptor copy = {};
  memcpy(&copy, &descriptor, descriptor_bytes(next.version));
  copy.parent = its_parent(descriptor.parent, handle);
  if (!is_old && type == event::kCollective) {
    copy.collective.group = its_parent(descriptor.collective.group, handle);
  } else if (!is_old && type == event::kMessage) {
    copy.message.group = its_parent(descriptor.message.group, handle);
  }
  void* its = nullptr;
  next.start(communicator.next_context.load(kRelaxed), &its, &copy);
  return handle::bits_of(its);
}

void pass_stop(const Communicator& communicator, std::uint64_t its_handle) {
  const NextTable* next = communicator.next.load(kRelaxed);
  if (next != nullptr && its_handle != 0) {
    next->stop(handle::pointer_of(its_handle));
  }
}

void pass_state(const Communicator& communicator, std::uint64_t its_handle, int state,
                StateArguments* arguments) {
  const NextTable* next = communicator.next.load(kRelaxed);
  if (next != nullptr && its_handle != 0) {
    next->record(handle::pointer_of(its_handle), state, arguments);
  }
}

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

// A Proxy begins when its turn comes, which NCCL reports later, and a Step with its waits.
bool begin_is_recorded(What what) {
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
  const std::uint64_t now = begin_is_recorded(what) ? now_ns() : coarse_now_ns();
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

void put_name(Record& record, const char* name) {
  std::array<char, 32> text = {};
  if (name != nullptr) {
    memcpy(text.data(), name, strnlen(name, text.size()));
  }
  memcpy(&record[word::kName], text.data(), text.size());
}

void keep_joined(const Communicator& communicator, const Joining& joining, const Lane* lane,
                 std::uint64_t now) {
  Record record = {};
  record[0] = head_of(Kind::Communicator, communicator);
  record[word::kHash] = joining.id;
  record[word::kRank] = rank_word(joining.rank);
  record[word::kRanks] = rank_word(joining.ranks);
  record[word::kNodes] = rank_word(joining.nodes);
  record[word::kTime] = now;
  put_name(record, joining.name);
  keep(lane, record);
}

void keep_left(const Communicator& communicator, const Lane* lane, std::uint64_t now) {
  Record record = {};
  record[0] = head_of(Kind::Left, communicator);
  record[word::kTime] = now;
  keep(lane, record);
}

void set_stopped(std::uint64_t stopped) {
  if (File* file = process().file.get(); file != nullptr) {
    file->header.stopped.store(stopped, std::memory_order_relaxed);
  }
}

void join_next(Communicator& communicator, const Joining& joining) {
  NextTable* next = process().next.table(joining.version);
  void* context = nullptr;
  if (next != nullptr && init(*next, joining, &context)) {
    communicator.next_context.store(context, std::memory_order_relaxed);
    communicator.next.store(next, std::memory_order_relaxed);
  }
}

// Since 2.28 NCCL calls finalize only where init gave a context; profilers rely on that.
void finalize_next(const Communicator& communicator) {
  const NextTable* next = communicator.next.load(std::memory_order_relaxed);
  void* context = communicator.next_context.load(std::memory_order_relaxed);
  if (next != nullptr && (context != nullptr || communicator.version.load(kRelaxed) == 4)) {
    next->finalize(context);
  }
}

Lane* lane_to_record() { return process().is_recording() ? process().lanes.mine() : nullptr; }

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
  const bool is_recorded = what == What::Proxy || what == What::Kernel;
  end({.entry = *found.entry,
       .what = what,
       .communicator = *found.communicator,
       .lane = is_recorded ? process().lanes.mine() : nullptr,
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

int join(void** context, const Joining& joining) {
  if (context == nullptr || joining.mask == nullptr) {
    process().refuse();
    return 0;
  }
  *context = nullptr;
  Process& all = process();
  all.begin(joining.version, joining.caller);
  all.next.complain(joining.version, joining.log);
  const bool is_of_use = all.is_usable.load(std::memory_order_acquire) &&
                         !all.lanes.is_disowned() &&
                         (all.is_recording() || all.next.table(joining.version) != nullptr);
  Communicator* communicator = is_of_use ? all.communicators.add() : nullptr;
  if (communicator == nullptr) {
    return 0;
  }
  communicator->version.store(static_cast<std::uint64_t>(joining.version),
                              std::memory_order_relaxed);
  communicator->mask.store(joining.mask, std::memory_order_relaxed);
  join_next(*communicator, joining);
  set_stopped(0);
  Lane* lane = lane_to_record();
  const std::uint64_t now = now_ns();
  if (all.is_recording()) {
    keep_joined(*communicator, joining, lane, now);
  }
  *context = handle::pointer_of(all.communicators.publish(*communicator));
  keep_mask(*communicator, lane, now);
  return 0;
}

int finalize(void* context) {
  Process& all = process();
  if (all.lanes.is_disowned()) {
    return 0;
  }
  const std::uint64_t bits = handle::bits_of(context);
  Communicator* communicator = all.communicators.find(bits);
  if (communicator == nullptr || !all.communicators.leave(bits)) {
    all.refuse();
    return 0;
  }
  finalize_next(*communicator);
  if (all.is_recording()) {
    keep_left(*communicator, lane_to_record(), now_ns());
  }
  if (all.communicators.remove(*communicator)) {
    set_stopped(1);
  }
  return 0;
}

}  // namespace chokepoint::capture::nccl::plugin
