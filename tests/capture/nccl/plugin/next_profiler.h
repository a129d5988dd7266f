// A made-up profiler that a job had set for itself: it trusts its handles, as such do, and stores
// the calls that it received. One a process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture/nccl/plugin/interface.h"

namespace chokepoint::capture::nccl::test {

struct ReceivedCall {
  std::string what;          // "init", "start", "stop", "state", "finalize"
  std::uint64_t number = 0;  // of init the communicator's id, of start the type, of state the state
  const void* context = nullptr;
  const void* handle = nullptr;
  const void* parent = nullptr;
  const void* group = nullptr;
  std::uint64_t sequence = 0;
  std::uint64_t tag = 0;

  bool operator==(const ReceivedCall&) const = default;
};

// What tests ask of it, by name.
struct NextControl {
  std::vector<ReceivedCall> received;
  int mask = 0;
  int answer = 0;  // of init
  bool has_context = true;
  int* mask_word = nullptr;
};
inline constexpr const char* kNextControl = "next_control";

}  // namespace chokepoint::capture::nccl::test
