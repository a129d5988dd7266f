#include "capture/nccl/plugin/next.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "capture/nccl/plugin/calls.h"
#include "capture/nccl/plugin/old_libc.h"

namespace chokepoint::capture::nccl::plugin {
namespace {

constexpr const char* kDefault = "libnccl-profiler.so";
// As NCCL logs it. __FILE__ would differ by the folder of the build.
constexpr const char* kFile = "capture/nccl/plugin/next.cc";

void* open(const char* name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }

bool is_library_name(const char* name) {
  const std::size_t length = strlen(name);
  return strncmp(name, "lib", 3) == 0 && length >= 3 && strcmp(name + length - 3, ".so") == 0;
}

// NCCL's own rule: as it stands, and else as the name within libnccl-profiler-NAME.so.
void* open_as_nccl_does(const char* name) {
  if (strcmp(name, "STATIC_PLUGIN") == 0) {
    return open(nullptr);
  }
  if (void* library = open(name); library != nullptr) {
    return library;
  }
  std::array<char, 256> whole = {};
  if (strchr(name, '/') != nullptr || is_library_name(name)) {
    return nullptr;
  }
  const int length = snprintf(whole.data(), whole.size(), "libnccl-profiler-%s.so", name);
  return length > 0 && static_cast<std::size_t>(length) < whole.size() ? open(whole.data())
                                                                       : nullptr;
}

template <typename Table>
const Table* find(void* library, const char* symbol, const Table& own) {
  const auto* table = static_cast<const Table*>(dlsym(library, symbol));
  const bool is_whole = table != nullptr && table != &own && table->init != nullptr &&
                        table->start != nullptr && table->stop != nullptr &&
                        table->record != nullptr && table->finalize != nullptr;
  return is_whole ? table : nullptr;
}

template <typename Table>
void take(NextTable& into, int version, const Table* table) {
  if (table != nullptr) {
    into.version = version;
    into.start = table->start;
    into.stop = table->stop;
    into.record = table->record;
    into.finalize = table->finalize;
  }
}

constexpr std::uint64_t kNet = event::kNetwork;
constexpr std::uint64_t kSteps = event::kStep | kNet;
constexpr std::uint64_t kProxies = event::kProxy | kSteps;
constexpr std::uint64_t kKernels = event::kKernel | event::kKernelPhase;
constexpr std::uint64_t kParts = kProxies | kKernels;
constexpr std::uint64_t kCopies = event::kCopyCollective | event::kCopySync | event::kCopyBatch;
constexpr std::uint64_t kTasks = event::kCollective | event::kMessage | kParts;
constexpr std::uint64_t kCalls = event::kGroupCall | event::kCollectiveCall | event::kMessageCall |
                                 event::kLaunch | event::kGroup | kTasks | kCopies;

// The bits of a mask any of which brings this kind of event.
constexpr std::uint64_t gate_of(std::uint64_t type) {
  switch (type) {
    case event::kGroup:
      return event::kGroup | kTasks;
    case event::kCollective:
      return event::kCollective | kParts;
    case event::kMessage:
      return event::kMessage | kParts;
    case event::kProxy:
      return kProxies;
    case event::kStep:
      return kSteps;
    case event::kKernel:
      return kKernels;
    case event::kGroupCall:
      return kCalls;
    case event::kCollectiveCall:
      return event::kCollectiveCall | event::kCollective | kParts | kCopies;
    case event::kMessageCall:
      return event::kMessageCall | event::kMessage | kParts;
    case event::kCopyCollective:
      return kCopies;
    default:
      return type;
  }
}

// Kinds of events that a version does not have.
constexpr std::uint64_t unknown_to(int version) {
  return (version < 6 ? kCopies : 0) | (version < 7 ? event::kKernelPhase : 0);
}

}  // namespace

void Next::find_tables(void* library) {
  NextTable& four = tables_[0];
  four.four = find(library, "ncclProfiler_v4", ncclProfiler_v4);
  take(four, 4, four.four);
  NextTable& five = tables_[1];
  five.five = find(library, "ncclProfiler_v5", ncclProfiler_v5);
  take(five, 5, five.five);
  // What later versions add are kinds of events, and fields at the end of a part.
  const std::array<const Table5*, 2> later = {find(library, "ncclProfiler_v6", ncclProfiler_v6),
                                              find(library, "ncclProfiler_v7", ncclProfiler_v7)};
  for (std::size_t each = 0; each < later.size(); ++each) {
    const NextTable& before = tables_[each + 1];
    NextTable& table = tables_[each + 2];
    const bool has_own = later[each] != nullptr;
    table.five = has_own ? later[each] : before.five;
    take(table, has_own ? 6 + static_cast<int>(each) : before.version, table.five);
  }
}

void Next::load(const char* name) {
  const bool is_named = name != nullptr && name[0] != '\0';
  if (is_named && strcasecmp(name, "none") == 0) {
    return;
  }
  is_wanted_ = is_named;
  if (void* library = open_as_nccl_does(is_named ? name : kDefault); library != nullptr) {
    find_tables(library);
  } else if (const char* why = dlerror(); is_named && why != nullptr) {
    snprintf(why_.data(), why_.size(), " (%s)", why);
  }
}

NextTable* Next::table(int version) {
  NextTable& table = tables_[static_cast<std::size_t>(version - 4) % tables_.size()];
  return table.version == 0 ? nullptr : &table;
}

void Next::complain(int version, Logger log) {
  if (is_wanted_ && log != nullptr && table(version) == nullptr &&
      !has_complained_.exchange(true, std::memory_order_relaxed)) {
    log(LogLevel::Warn, kLogInit, kFile, __LINE__,
        "chokepoint: the profiler that this job has set could not be opened%s, or has no "
        "ncclProfiler_v%d: it will see nothing",
        why_.data(), version);
  }
}

bool init(NextTable& table, const Joining& joining, void** context) {
  const int failed =
      table.four != nullptr
          ? table.four->init(context, &table.mask, joining.name, joining.id, joining.nodes,
                             joining.ranks, joining.rank, joining.log)
          : table.five->init(context, joining.id, &table.mask, joining.name, joining.nodes,
                             joining.ranks, joining.rank, joining.log);
  return failed == 0;
}

int mask_of(NextTable& table) {
  const int mask = std::atomic_ref<int>(table.mask).load(std::memory_order_relaxed);
  return mask & ~static_cast<int>(unknown_to(table.version));
}

bool wants(NextTable& table, std::uint64_t type) {
  const auto mask = static_cast<std::uint64_t>(mask_of(table));
  return (type & unknown_to(table.version)) == 0 && (gate_of(type) & mask) != 0;
}

}  // namespace chokepoint::capture::nccl::plugin
