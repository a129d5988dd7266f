// What the NCCL profiler plugin writes into shared memory, and chokepoint reads while the job runs:
// one file per process, in the folder that CHOKEPOINT_NCCL names.
//
//   ┌────────┬─────────┬─────────┬── … ──┬──────────┐
//   │ Header │ Ring 0  │ Ring 1  │       │ Ring 63  │   a ring for each thread that calls back
//   └────────┴─────────┴─────────┴── … ──┴──────────┘
//                └─ Slot 0 … Slot 4095, written round and round
//
// The writer never waits and does not see the reader: records that are not read in time are
// overwritten, and the reader counts them by the slots' numbers. A slot's number is odd while it
// is written, and 2·(n+1) once it holds the ring's record n (n from 0); so a reader that sees the
// same even number before and after has a whole record. The reader is another process: it reads
// the file by pread(), since access to a page that a full tmpfs cannot give would end the process,
// and trusts none of it.
//
// Shared by the plugin, which stands on nothing but the C library, and by the reader: no includes
// of other folders. x86-64 and other 64-bit little-endian hosts; both sides are of one build, or
// `version` differs.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace chokepoint::capture::nccl {

inline constexpr const char* kFolderVariable = "CHOKEPOINT_NCCL";
// The profiler that the job had set for itself, which the plugin loads and passes everything on to.
inline constexpr const char* kNextVariable = "CHOKEPOINT_NCCL_NEXT";
inline constexpr const char* kFileSuffix = ".nccl";

inline constexpr std::uint64_t kMagic = 0x4c43434e504b4843;  // "CHKPNCCL"
inline constexpr std::uint32_t kLayoutVersion = 3;
inline constexpr std::size_t kRings = 64;
inline constexpr std::size_t kSlots = 4096;
inline constexpr std::size_t kWords = 15;

using Word = std::atomic<std::uint64_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == 8);

struct alignas(64) Slot {
  Word number;
  std::array<Word, kWords> words;
};
static_assert(sizeof(Slot) == 128);

struct alignas(64) Ring {
  Word thread;   // its id; 0: the ring is free
  Word written;  // records so far
  std::array<Word, 6> reserved;
  std::array<Slot, kSlots> slots;
};
static_assert(sizeof(Ring) == 64 + kSlots * sizeof(Slot));

struct alignas(64) Header {
  Word magic;  // written last, once the rest is there
  Word version;
  Word process;  // its id, as it sees itself
  Word table;    // of NCCL's profiler interface: 4 to 7
  Word unkept;   // records for which no ring or table had room
  Word refused;  // callbacks that made no sense, and were ignored
  Word stopped;  // 1: its last communicator is gone
  Word events;   // a Choice below; 0: not made yet
};
static_assert(sizeof(Header) == 64);

// Which of the costly events NCCL is asked for, and why.
struct Choice {
  enum class Reason : std::uint8_t {
    Undecided = 0,
    Cheap = 1,      // for this version of NCCL kernel events are known to cost little
    Costly = 2,     // for this version they are known to cost much
    Unknown = 3,    // what they cost is not known for this version
    Requested = 4,  // by the job's environment
  };

  std::uint32_t nccl_version = 0;  // as ncclGetVersion() counts, 22809; 0: not known
  Reason reason = Reason::Undecided;
  bool proxies = false;
  bool steps = false;
  bool kernels = false;

  constexpr std::uint64_t word() const {
    return nccl_version | static_cast<std::uint64_t>(reason) << 32 |
           static_cast<std::uint64_t>(proxies) << 40 | static_cast<std::uint64_t>(steps) << 41 |
           static_cast<std::uint64_t>(kernels) << 42;
  }
  static constexpr Choice of(std::uint64_t word) {
    const auto reason = static_cast<std::uint8_t>(word >> 32);
    return {.nccl_version = static_cast<std::uint32_t>(word),
            .reason = reason <= static_cast<std::uint8_t>(Reason::Requested) ? Reason{reason}
                                                                             : Reason::Undecided,
            .proxies = (word >> 40 & 1) != 0,
            .steps = (word >> 41 & 1) != 0,
            .kernels = (word >> 42 & 1) != 0};
  }
};

struct File {
  Header header;
  std::array<Ring, kRings> rings;
};

// words[0]: the kind in the low byte, above it the communicator's number in this process
// (16 bits, from 1; 0: not known). Times are of CLOCK_MONOTONIC, in ns.
enum class Kind : std::uint8_t {
  Communicator = 1,  // a rank has joined
  Left = 2,          // finalised
  Collective = 3,    // enqueued; what it is made of follows, and names it by its id
  Message = 4,       // a send or a receive, likewise
  Proxy = 5,         // a channel's part in the network of it is over
  Kernel = 6,        // a channel's part on the GPU is over
  Window = 7,        // from now on kernels are recorded, or no longer
};

// The words of each kind, from 1 on. Ids are unique in a process, and never 0.
namespace word {
// Communicator
inline constexpr std::size_t kHash = 1;  // the same on all its ranks
inline constexpr std::size_t kRank = 2;
inline constexpr std::size_t kRanks = 3;
inline constexpr std::size_t kNodes = 4;
inline constexpr std::size_t kTime = 5;  // of Left and Window, too
inline constexpr std::size_t kName = 6;  // to 9: 32 bytes of text, zeros at the end
// Collective and Message
inline constexpr std::size_t kId = 1;        // of Proxy and Kernel: whose part it is
inline constexpr std::size_t kSequence = 2;  // counts per communicator and function, of messages
                                             // per peer, too; all ones: not known
inline constexpr std::size_t kFunction = 3;  // Function below
inline constexpr std::size_t kBytes = 4;     // count times the element's size
inline constexpr std::size_t kEnqueued = 5;
inline constexpr std::size_t kChannels = 6;   // 0: not known
inline constexpr std::size_t kAlgorithm = 7;  // Algorithm below
inline constexpr std::size_t kProtocol = 8;   // Protocol below
inline constexpr std::size_t kPeer = 9;  // the root, of a message the other rank; all ones: none
inline constexpr std::size_t kDatatype = 10;  // NCCL's number; all ones: not known
inline constexpr std::size_t kTag = 11;       // that the program gave this call; 0: none
// Proxy
inline constexpr std::size_t kChannel = 2;  // of Kernel, too; bit 32: it sends
inline constexpr std::size_t kProxyPeer = 3;
inline constexpr std::size_t kProxyBegin = 4;
inline constexpr std::size_t kProxyEnd = 5;
inline constexpr std::size_t kGpuNs = 6;         // its steps waited for the own GPU; all together
inline constexpr std::size_t kNetworkNs = 7;     // for the network
inline constexpr std::size_t kPeerNs = 8;        // for the receiver's credit
inline constexpr std::size_t kFlushNs = 9;       // for the flush over PCIe
inline constexpr std::size_t kTransferred = 10;  // bytes, as far as reported
inline constexpr std::size_t kSteps = 11;        // whose waiting was reported; 0: not known
inline constexpr std::size_t kFirstData = 12;    // when the first step had data of the own GPU, or
                                                 // from the network; 0: not known
inline constexpr std::size_t kFirstTaken = 13;   // when the own GPU had taken what was received
                                                 // first; 0: not known
// Kernel
inline constexpr std::size_t kGpuBegin = 3;  // by the GPU's own clock, ns; 0: not known
inline constexpr std::size_t kGpuEnd = 4;
inline constexpr std::size_t kSeenBegin = 5;  // when NCCL noticed, by this host's clock
inline constexpr std::size_t kSeenEnd = 6;
// Window
inline constexpr std::size_t kKernels = 1;  // 1: on
}  // namespace word

enum class Function : std::uint8_t {
  Unknown = 0,
  AllReduce = 1,
  AllGather = 2,
  ReduceScatter = 3,
  Broadcast = 4,
  Reduce = 5,
  Send = 6,
  Receive = 7,
  AllToAll = 8,
  Gather = 9,
  Scatter = 10,
};
enum class Algorithm : std::uint8_t {
  Unknown = 0,
  Tree = 1,
  Ring = 2,
  CollnetDirect = 3,
  CollnetChain = 4,
  Nvls = 5,
  NvlsTree = 6,
  Pat = 7,
};
enum class Protocol : std::uint8_t { Unknown = 0, LL = 1, LL128 = 2, Simple = 3 };

inline constexpr std::uint64_t kNone = ~std::uint64_t{0};

}  // namespace chokepoint::capture::nccl
