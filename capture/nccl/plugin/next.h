// The next profiler, which the job had set for itself: NCCL takes only one, so this plugin loads it
// as NCCL would have, and forwards the events that it requested. NCCL never sees its contexts and
// handles. If it cannot be loaded, there is one warning, and the plugin works without it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "capture/nccl/plugin/interface.h"

namespace chokepoint::capture::nccl::plugin {

struct NextTable {
  int version = 0;  // of the interface; 0: the next profiler lacks it
  int mask = 0;     // its mask of events, as NCCL's is for us
  const Table4* four = nullptr;
  const Table5* five = nullptr;
  StartEvent start = nullptr;
  StopEvent stop = nullptr;
  RecordState record = nullptr;
  Finalize finalize = nullptr;
};

class Next {
 public:
  // Once. `name` as NCCL_PROFILER_PLUGIN would have it; null: what NCCL takes where nothing is set.
  void load(const char* name);
  // The table to use when NCCL uses this version of ours; null if there is none.
  NextTable* table(int version);
  // The first call warns if the next profiler was set but has no table.
  void complain(int version, Logger log);

 private:
  void find_tables(void* library);

  bool is_wanted_ = false;
  std::array<char, 256> why_ = {};  // it could not be opened
  std::atomic<bool> has_complained_ = false;
  std::array<NextTable, 4> tables_ = {};  // of versions 4 to 7
};

// True with its context if it takes part in this communicator.
bool init(NextTable& table, const Joining& joining, void** context);
// Whether NCCL would have reported this kind of event to it: asking for an event includes its
// parents.
bool wants(NextTable& table, std::uint64_t type);
int mask_of(NextTable& table);

}  // namespace chokepoint::capture::nccl::plugin
