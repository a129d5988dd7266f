// NCCL's profiler interface as far as this plugin reads it, declared anew: versions 4 to 7 agree in
// where things lie. They differ in the width of `type` (a byte up to version 4, and what follows it
// is not set), in init's arguments, and in what they add at the end of each part.
//
// docs/internals/nccl-plugin.md lists the sources of NCCL against which the offsets were checked.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chokepoint::capture::nccl::plugin {

// Bits of the mask, and a descriptor's type.
namespace event {
inline constexpr std::uint64_t kGroup = 1 << 0;
inline constexpr std::uint64_t kCollective = 1 << 1;
inline constexpr std::uint64_t kMessage = 1 << 2;
inline constexpr std::uint64_t kProxy = 1 << 3;
inline constexpr std::uint64_t kStep = 1 << 4;
inline constexpr std::uint64_t kControl = 1 << 5;
inline constexpr std::uint64_t kKernel = 1 << 6;
inline constexpr std::uint64_t kNetwork = 1 << 7;
inline constexpr std::uint64_t kGroupCall = 1 << 8;
inline constexpr std::uint64_t kCollectiveCall = 1 << 9;
inline constexpr std::uint64_t kMessageCall = 1 << 10;
inline constexpr std::uint64_t kLaunch = 1 << 11;
inline constexpr std::uint64_t kCopyCollective = 1 << 12;
inline constexpr std::uint64_t kCopySync = 1 << 13;
inline constexpr std::uint64_t kCopyBatch = 1 << 14;
inline constexpr std::uint64_t kKernelPhase = 1 << 15;
}  // namespace event

enum class State : int {
  SendGpuWait = 8,
  SendWait = 9,
  ReceiveWait = 10,
  ReceiveFlushWait = 11,
  ReceiveGpuWait = 12,
  ProxyInProgress = 19,
  SendPeerWait = 20,
  KernelStop = 22,
};

struct CollectivePart {
  std::uint64_t sequence;
  const char* function;
  const void* from;
  void* to;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t channels;
  std::uint8_t warps;
  const char* algorithm;
  const char* protocol;
  void* group;          // from version 5 on
  const char* variant;  // this and what follows from version 7 on
  bool is_symmetric;
  std::uint64_t tag;
};

struct MessagePart {
  const char* function;
  void* buffer;
  const char* datatype;
  std::size_t count;
  int peer;
  std::uint8_t channels;
  void* group;        // from version 5 on
  std::uint64_t tag;  // from version 7 on
};

struct ProxyPart {
  int process;
  std::uint8_t channel;
  int peer;
  int steps;
  int chunk_bytes;
  int is_send;
};

struct KernelPart {
  std::uint8_t channel;
  std::uint64_t timer;
};

struct Descriptor {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    CollectivePart collective;
    MessagePart message;
    ProxyPart proxy;
    KernelPart kernel;
  };
};

// How much of it there is in each version.
inline constexpr std::size_t kDescriptorBytes4 = 104;
inline constexpr std::size_t kDescriptorBytes5 = 112;  // and 6
inline constexpr std::size_t kDescriptorBytes7 = 136;
static_assert(sizeof(Descriptor) == kDescriptorBytes7);
static_assert(offsetof(Descriptor, parent) == 8);
static_assert(offsetof(Descriptor, rank) == 16);
static_assert(offsetof(Descriptor, collective) == 24);
static_assert(offsetof(Descriptor, message) == 24);
static_assert(offsetof(Descriptor, proxy) == 24);
static_assert(offsetof(Descriptor, kernel) == 24);
static_assert(offsetof(CollectivePart, function) == 8);
static_assert(offsetof(CollectivePart, count) == 32);
static_assert(offsetof(CollectivePart, root) == 40);
static_assert(offsetof(CollectivePart, datatype) == 48);
static_assert(offsetof(CollectivePart, channels) == 56);
static_assert(offsetof(CollectivePart, algorithm) == 64);
static_assert(offsetof(CollectivePart, protocol) == 72);
static_assert(offsetof(CollectivePart, group) == 80);
static_assert(offsetof(CollectivePart, variant) == 88);
static_assert(offsetof(CollectivePart, is_symmetric) == 96);
static_assert(offsetof(CollectivePart, tag) == 104);
static_assert(offsetof(MessagePart, datatype) == 16);
static_assert(offsetof(MessagePart, count) == 24);
static_assert(offsetof(MessagePart, peer) == 32);
static_assert(offsetof(MessagePart, channels) == 36);
static_assert(offsetof(MessagePart, group) == 40);
static_assert(offsetof(MessagePart, tag) == 48);
static_assert(offsetof(ProxyPart, channel) == 4);
static_assert(offsetof(ProxyPart, peer) == 8);
static_assert(offsetof(ProxyPart, steps) == 12);
static_assert(offsetof(ProxyPart, is_send) == 20);
static_assert(offsetof(KernelPart, timer) == 8);

union StateArguments {
  std::size_t transferred;
  std::uint64_t timer;
};
static_assert(sizeof(StateArguments) == 8);

// Its own levels and parts, of which these are used.
enum class LogLevel : int { Warn = 2, Info = 3 };
inline constexpr unsigned long kLogInit = 1;
using Logger = void (*)(LogLevel level, unsigned long part, const char* file, int line,
                        const char* format, ...);

using StartEvent = int (*)(void* context, void** handle, Descriptor* descriptor);
using StopEvent = int (*)(void* handle);
using RecordState = int (*)(void* handle, int state, StateArguments* arguments);
using Finalize = int (*)(void* context);

struct Table4 {
  const char* name;
  int (*init)(void** context, int* mask, const char* name, std::uint64_t id, int nodes, int ranks,
              int rank, Logger log);
  StartEvent start;
  StopEvent stop;
  RecordState record;
  Finalize finalize;
};

// Versions 6 and 7, too.
struct Table5 {
  const char* name;
  int (*init)(void** context, std::uint64_t id, int* mask, const char* name, int nodes, int ranks,
              int rank, Logger log);
  StartEvent start;
  StopEvent stop;
  RecordState record;
  Finalize finalize;
};

// What NCCL hands over about a communicator, whatever the version.
struct Joining {
  int version = 0;
  std::uint64_t id = 0;
  const char* name = nullptr;
  int nodes = 0;
  int ranks = 0;
  int rank = 0;
  int* mask = nullptr;
  Logger log = nullptr;
  const void* caller = nullptr;  // an address in the library that calls
};

}  // namespace chokepoint::capture::nccl::plugin
