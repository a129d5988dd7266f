#include "capture/nccl/plugin/process.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/nccl/plugin/old_libc.h"

namespace chokepoint::capture::nccl::plugin {
namespace {

constinit Process the_process;
pthread_once_t once = PTHREAD_ONCE_INIT;

void disown() { the_process.lanes.disown(); }

// A job without the folder, or whose next profiler is missing, runs on as if none of us were there.
void make_ready() {
  Process& process = the_process;
  process.id = static_cast<std::uint64_t>(getpid());
  process.began_ns = now_ns();
  process.window = window_of(getenv(kWindowVariable));
  if (!process.lanes.prepare(process.file) || pthread_atfork(nullptr, nullptr, disown) != 0) {
    return;
  }
  const int table = process.version.load(std::memory_order_relaxed);
  process.file.open(getenv(kFolderVariable), table);
  if (File* file = process.file.get(); file != nullptr) {
    const void* caller = process.caller.load(std::memory_order_relaxed);
    process.choice = choose_events(getenv(kEventsVariable), nccl_version_of(caller), table);
    file->header.events.store(process.choice.word(), std::memory_order_relaxed);
  }
  process.next.load(getenv(kNextVariable));
  process.is_usable.store(true, std::memory_order_release);
}

}  // namespace

Process& process() { return the_process; }

void Process::begin(int of_version, const void* of_caller) {
  int none = 0;
  if (version.compare_exchange_strong(none, of_version, std::memory_order_relaxed)) {
    caller.store(of_caller, std::memory_order_relaxed);
  }
  pthread_once(&once, make_ready);
}

void Process::refuse() {
  if (File* shared = file.get(); shared != nullptr && !lanes.is_disowned()) {
    shared->header.refused.fetch_add(1, std::memory_order_relaxed);
  }
}

void Process::lose() {
  if (File* shared = file.get(); shared != nullptr && !lanes.is_disowned()) {
    shared->header.unkept.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace chokepoint::capture::nccl::plugin
