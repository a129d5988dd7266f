#include "tests/capture/nccl/plugin/next_profiler.h"

#include <deque>

namespace {

using namespace chokepoint::capture::nccl::plugin;
using chokepoint::capture::nccl::test::NextControl;
using chokepoint::capture::nccl::test::ReceivedCall;

NextControl control;

struct Context {
  std::uint64_t id;
};

// Followed without a look, so that a handle that is not its own shows under any sanitizer.
struct Event {
  std::uint64_t type;
  int ends = 0;
};

std::deque<Context> contexts;
std::deque<Event> events;

int join(void** context, std::uint64_t id, int* mask) {
  *context = control.has_context ? &contexts.emplace_back(id) : nullptr;
  *mask = control.mask;
  control.mask_word = mask;
  control.received.push_back({.what = "init", .number = id, .context = *context});
  return control.answer;
}

[[maybe_unused]] int init4(void** context, int* mask, const char* /*name*/, std::uint64_t id,
                           int /*nodes*/, int /*ranks*/, int /*rank*/, Logger /*log*/) {
  return join(context, id, mask);
}

[[maybe_unused]] int init5(void** context, std::uint64_t id, int* mask, const char* /*name*/,
                           int /*nodes*/, int /*ranks*/, int /*rank*/, Logger /*log*/) {
  return join(context, id, mask);
}

ReceivedCall call_of(const void* context, const Descriptor& descriptor, std::uint64_t type) {
  ReceivedCall received = {
      .what = "start", .number = type, .context = context, .parent = descriptor.parent};
  if (type == event::kCollective) {
    received.sequence = descriptor.collective.sequence;
  }
  return received;
}

template <bool kIsOld>
int start(void* context, void** handle, Descriptor* descriptor) {
  const std::uint64_t type = kIsOld ? descriptor->type & 0xff : descriptor->type;
  Event* event = &events.emplace_back(type);
  *handle = event;
  ReceivedCall received = call_of(context, *descriptor, type);
  received.handle = event;
  if (!kIsOld && type == event::kCollective) {
    received.group = descriptor->collective.group;
#ifdef CHOKEPOINT_NEXT_HAS_7
    received.tag = descriptor->collective.tag;
#endif
  }
  static_cast<Context*>(context)->id += 1;
  control.received.push_back(received);
  return 0;
}

int stop(void* handle) {
  auto* event = static_cast<Event*>(handle);
  ++event->ends;
  control.received.push_back({.what = "stop", .number = event->type, .handle = handle});
  return 0;
}

int record(void* handle, int state, StateArguments* arguments) {
  control.received.push_back({.what = "state",
                              .number = static_cast<std::uint64_t>(state),
                              .handle = handle,
                              .sequence = arguments == nullptr ? 0 : arguments->timer});
  static_cast<Event*>(handle)->ends += 0;
  return 0;
}

int finalize(void* context) {
  control.received.push_back({.what = "finalize", .context = context});
  static_cast<Context*>(context)->id = 0;
  return 0;
}

}  // namespace

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): NCCL's names, and the tests'
#ifdef CHOKEPOINT_NEXT_HAS_4
__attribute__((visibility("default"))) extern const Table4 ncclProfiler_v4;
const Table4 ncclProfiler_v4 = {"next", init4, start<true>, stop, record, finalize};
#endif
#ifdef CHOKEPOINT_NEXT_HAS_5
__attribute__((visibility("default"))) extern const Table5 ncclProfiler_v5;
const Table5 ncclProfiler_v5 = {"next", init5, start<false>, stop, record, finalize};
#endif
#ifdef CHOKEPOINT_NEXT_HAS_7
__attribute__((visibility("default"))) extern const Table5 ncclProfiler_v7;
const Table5 ncclProfiler_v7 = {"next", init5, start<false>, stop, record, finalize};
#endif
__attribute__((visibility("default"))) NextControl* next_control() { return &control; }
// NOLINTEND(readability-identifier-naming)
}
