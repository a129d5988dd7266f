// The C interface of libchokepoint-gloo.so, which links libgloo so that the program itself runs
// without it. No exception crosses it: failures are texts. The module keeps no pointers that it is
// given, except those to a work's memory, until the next one is prepared. One thread for each
// group.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chokepoint::probe::collective::gloo_module {

inline constexpr const char* kModuleName = "libchokepoint-gloo.so";
inline constexpr const char* kEntryName = "chokepoint_gloo_functions";
// The version of all below: a module with another one is not used.
inline constexpr std::uint32_t kLayout = 1;

struct Group;

struct Text {
  char words[512];
};

// Functions return 0 for success.
struct StoreCalls {
  void* store;
  int (*set)(void* store, const char* key, const char* data, std::size_t size);
  // Calls `take` with the value, within this call.
  int (*get)(void* store, const char* key, void* into,
             void (*take)(void* into, const char* data, std::size_t size));
};

// By an interface's name or, where that is null, by an address.
struct DeviceChoice {
  const char* interface;
  const char* address;
};

struct Meeting {
  int rank;
  int ranks;
  std::int64_t timeout_ms;
  const DeviceChoice* devices;
  std::size_t device_count;
};

enum class Algorithm : int { Default, Ring, Bcube, HalvingDoubling, ByAllReduce };

// Collective and type are those of operation.h. In place, input and output are the same memory.
struct Work {
  int collective;
  int type;
  Algorithm algorithm;
  int root;
  void* input;
  std::uint64_t input_bytes;
  void* output;
  std::uint64_t output_bytes;
};

struct Functions {
  std::uint32_t layout;
  int (*open)(const Meeting* meeting, const StoreCalls* store, Group** made, Text* problem);
  int (*prepare)(Group* group, const Work* work, Text* problem);
  // As many times are written as there are runs, in microseconds.
  int (*run)(Group* group, int runs, double* times_us, Text* problem);
  void (*close)(Group* group);
};

using Entry = const Functions*();

}  // namespace chokepoint::probe::collective::gloo_module
