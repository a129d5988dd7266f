// The profiler that the job had set for itself: NCCL has room for one, so this plugin loads it as
// NCCL would have, and passes on what it asked for. Its contexts and handles are its own; NCCL
// never sees them. What goes wrong with it is said once, and is its own affair.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "capture/nccl/plugin/interface.h"

namespace chokepoint::capture::nccl::plugin {

struct NextTable {
  int version = 0;  // of the interface; 0: it has none for this
  int mask = 0;     // its word, as NCCL's is for us
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
  // For what NCCL asked us by this version of its interface; null where it is not to be had.
  NextTable* table(int version);
  // The first one to ask says why there is none, if there should be one.
  void complain(int version, Logger log);

 private:
  void find_tables(void* library);

  bool is_wanted_ = false;
  std::atomic<bool> has_complained_ = false;
  std::array<NextTable, 3> tables_ = {};
};

// Its context, if it will have a part in this communicator.
bool init(NextTable& table, const Joining& joining, void** context);
// Whether NCCL would have told it of this kind of event: what is asked for brings its parents
// along.
bool wants(NextTable& table, std::uint64_t type);
int mask_of(NextTable& table);

}  // namespace chokepoint::capture::nccl::plugin
