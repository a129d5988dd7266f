#include <string.h>

#include "capture/nccl/plugin/calls.h"
#include "capture/nccl/plugin/clocks.h"
#include "capture/nccl/plugin/mask.h"
#include "capture/nccl/plugin/process.h"
#include "capture/nccl/plugin/record.h"

namespace chokepoint::capture::nccl::plugin {
namespace {

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

Lane* lane_to_record() { return process().is_recording() ? process().lanes.mine() : nullptr; }

}  // namespace

int join(void** context, const Joining& joining) {
  if (context == nullptr || joining.mask == nullptr) {
    process().refuse();
    return 0;
  }
  *context = nullptr;
  Process& all = process();
  all.begin(joining.version);
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
  if (const NextTable* next = communicator->next.load(std::memory_order_relaxed); next != nullptr) {
    next->finalize(communicator->next_context.load(std::memory_order_relaxed));
  }
  if (all.is_recording()) {
    keep_left(*communicator, lane_to_record(), now_ns());
  }
  if (all.communicators.remove(*communicator)) {
    set_stopped(1);
  }
  return 0;
}

}  // namespace chokepoint::capture::nccl::plugin
