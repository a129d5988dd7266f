// What other tools recorded of the same job, read from their files: dumps of PyTorch's Flight
// Recorder, traces of its profiler, what NCCL Inspector and NCCL's RAS write, Slurm's accounts, and
// benchmarks as ceilings. Files are not trusted: each reader is bounded, and what is wrong with a
// file is an Error that names it. Nothing here is judged; claims.h derives statements from it, and
// analysis/attribution compares those with a run. Values.
//
//   read_tool_file()  a file, packed or not ─ recognised by its content ─ one reader ─ ToolFile
//   claims_of()      all of them together, since most statements compare ranks
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/load/given_probes.h"
#include "analysis/timeline/spans.h"
#include "base/json/fields.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

enum class Tool : std::uint8_t {
  FlightRecorder,
  Profiler,  // PyTorch's, and others' traces of the same form
  Inspector,
  Ras,
  Slurm,
  JobLog,
  NcclTests,
  Perftest,
  Chokepoint,  // a document of this program
};

// Wall-clock nanoseconds since 1970; both 0: the file has none.
struct WallSpan {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;

  bool is_known() const { return end_ns > 0; }
  void include(std::int64_t from_ns, std::int64_t until_ns);
};

// One rank's part of one collective: the same group and number at every rank that took part.
struct CollectiveTime {
  std::uint32_t group = 0;  // in RankRecord::groups
  std::uint64_t number = 0;
  std::int64_t start_ns = 0;  // of a trace, by its own clock
  std::int64_t length_ns = 0;
};

// A collective that a rank enqueued, as the Flight Recorder stores it.
struct Call {
  std::string operation = {};  // "all_reduce"
  std::string sizes = {};      // of its input, "[[3,4]]"
  std::string types = {};      // likewise, "[\"Float\"]"
  std::string site = {};       // of the job's own code, "train.py:40"
  bool is_started = false;     // on the GPU; only with TORCH_NCCL_ENABLE_TIMING
  bool is_completed = false;
  std::int64_t created_ns = 0;  // wall time; 0: unknown
  std::int64_t order = 0;       // among all that the rank called
};

// A message between two ranks that is not over.
struct Message {
  std::string what = {};  // "recv 0<-8"
  std::int64_t from = 0;  // numbers within the group
  std::int64_t to = 0;
  bool is_sent = false;     // by this rank; else it receives
  std::int64_t number = 0;  // of this rank's messages in the group
  std::int64_t created_ns = 0;
  std::int64_t order = 0;
};

// How far a rank has come in a process group. -1: unknown.
struct GroupState {
  std::string label = {};                   // what the job calls it: "default_pg"
  std::vector<std::int64_t> members = {};   // world ranks; empty: unknown
  std::size_t least_members = 0;            // by how many parts an all_gather has; 0: unknown
  std::int64_t enqueued = -1;               // by the entries, or by the group's status
  std::int64_t completed = -1;              // likewise
  std::int64_t called = -1;                 // by the entries alone: a status counts messages, too
  std::map<std::int64_t, Call> calls = {};  // the newest, and the first that are open, by number
  std::vector<Message> messages = {};       // the first that are open
  bool has_messages = false;
  std::int64_t message_number = -1;  // of the last one
};

// Of a profiler's trace: what filled the time between the first step's beginning and the last one's
// end. trace_times.h says what counts first where several go on at once.
struct TraceTime {
  bool has_kernels = false;  // else operators on processors are its computing
  std::size_t steps = 0;
  std::int64_t window_ns = 0;
  std::int64_t computing_ns = 0;
  std::int64_t exposed_ns = 0;  // collectives that nothing hides
  std::int64_t copying_ns = 0;
  std::int64_t input_ns = 0;  // waiting for the next batch
  Spans exposed = {};         // by the trace's own clock

  std::int64_t rest_ns() const {
    return window_ns - computing_ns - exposed_ns - copying_ns - input_ns;
  }
};

struct RankRecord {
  std::optional<std::int64_t> rank = {};
  std::string host = {};
  std::vector<WallSpan> steps = {};
  std::int64_t world_size = 0;  // 0: unknown
  std::optional<TraceTime> time = {};
  std::vector<std::string> groups = {};  // names that collectives refer to
  std::vector<CollectiveTime> collectives = {};
  std::map<std::string, GroupState> states = {};  // by the process group's name
  // Lately a call followed another as it never did before, in a sequence that repeats itself.
  bool leaves_sequence = false;
};

// What NCCL's RAS reports of a rank that is not as the others.
struct RasRank {
  enum class State : std::uint8_t { Silent, Dead, Behind, Ahead };
  State state = State::Silent;
  std::int64_t rank = 0;  // the job's where is_world, else in its communicator
  std::string host = {};  // an address
  std::int64_t pid = 0;
  std::string communicator = {};
  bool is_world = false;       // known from the largest communicator, whose ranks are the job's
  std::string operation = {};  // of Behind and Ahead: "AllGather"
  std::int64_t count = 0;      // how many of them it has launched
  std::int64_t others = 0;     // and most others
};

struct SlurmJob {
  std::string id = {};
  std::string name = {};
  std::string state = {};   // "OUT_OF_MEMORY"
  std::string reason = {};  // empty or "None": none
  std::optional<std::int64_t> exit_code = {};
  std::optional<std::int64_t> signal = {};
  std::string nodes = {};  // as Slurm lists them
  WallSpan span = {};
};

// A line of a job's log by which something failed.
struct LogFailure {
  enum class Kind : std::uint8_t {
    GpuFault,
    GpuMemory,
    HostMemory,
    Killed,
    Exception,
    // These follow from another rank's.
    CollectiveTimeout,
    PeerLost,
    MeetingTimeout,
    Terminated,
  };
  Kind kind = Kind::Exception;
  std::optional<std::int64_t> rank = {};
  std::int64_t in_year_ns = -1;  // since the year began, as most logs have it; -1: unknown
  std::uint64_t line = 0;
  std::string text = {};

  bool is_first() const { return kind < Kind::CollectiveTimeout; }  // or may be
};

// How a rank's process ended, by torchrun's table.
struct RankEnd {
  std::int64_t rank = -1;
  std::int64_t local_rank = -1;  // of a launcher's line, which has no rank
  std::string host = {};
  std::int64_t exit_code = 0;  // negative: a signal
};

// How a process connected, by NCCL's log.
struct NcclProcess {
  std::string host = {};
  std::optional<std::int64_t> rank = {};
  std::int64_t ranks = 0;  // of the largest communicator
  std::string version = {};
  std::string network = {};                           // "Socket", "IB", a plugin's name
  std::set<std::string> interfaces = {};              // that sockets may use
  std::set<std::string> rdma_devices = {};            // that there are
  std::set<std::string> devices_used = {};            // numbers, of channels over the network
  std::map<std::string, std::string> variables = {};  // "NCCL_IB_DISABLE": "1"
  std::int64_t network_channels = 0;
  std::int64_t direct_channels = 0;  // of these, those from the GPU's memory
  std::int64_t peer_channels = 0;    // between GPUs of the host
  std::int64_t memory_channels = 0;  // through the host's memory instead
  bool is_peer_to_peer_refused = false;
  std::set<std::string> no_gpu_direct = {};  // RDMA devices for which NCCL calls it disabled
};

// How long steps took by what the job printed, one after the other.
struct PrintedSteps {
  std::uint64_t line = 0;  // that ends them
  std::uint64_t ordinal =
      0;                    // of the last of them, from the first line on; epochs do not restart it
  std::uint64_t count = 1;  // since the line before
  double ms = 0;            // each, where they are several the mean
};

// What a benchmark of a collective measured of one size.
struct MeasuredSize {
  double bytes = 0;
  double time_us = 0;
  double bus_mbps = 0;     // 0: less than the benchmark prints
  std::int64_t wrong = 0;  // values that are not what they should be
};

struct MeasuredCollective {
  std::string collective = {};  // "all-reduce"
  std::size_t ranks = 0;        // 0: unknown
  std::vector<MeasuredSize> sizes = {};
};

struct ToolFile {
  Tool tool = Tool::Profiler;
  std::string file = {};
  WallSpan span = {};
  std::vector<RankRecord> ranks = {};
  std::vector<RasRank> ras = {};
  bool ras_is_clean = false;  // RAS reported every rank and found no difference
  std::vector<SlurmJob> jobs = {};
  std::vector<LogFailure> failures = {};  // in the order of the file
  std::vector<RankEnd> ends = {};
  std::vector<NcclProcess> nccl = {};
  std::vector<PrintedSteps> printed = {};  // of one rank
  std::vector<MeasuredCollective> collectives = {};
  std::vector<GivenProbe> ceilings = {};
  std::vector<std::string> hosts = {};  // that took part in a benchmark, any of which may be a node
  std::vector<std::string> left_out = {};  // for people: what of the file was not read, and why
};

// Recognises the file by its content. The Error is one line that lists what can be read.
Result<ToolFile> read_tool_file(const std::string& path);
// The same of bytes in memory; `name` is the file's, which may hold its rank.
Result<ToolFile> read_tool_file(std::string_view bytes, const std::string& name);

}  // namespace chokepoint::analysis

template <>
struct chokepoint::EnumNames<chokepoint::analysis::Tool> {
  using T = chokepoint::analysis::Tool;
  static constexpr std::string_view kWhat = "tool";
  static constexpr auto kNames = std::to_array<EnumName<T>>({{T::FlightRecorder, "flight-recorder"},
                                                             {T::Profiler, "profiler"},
                                                             {T::Inspector, "nccl-inspector"},
                                                             {T::Ras, "nccl-ras"},
                                                             {T::Slurm, "slurm"},
                                                             {T::JobLog, "job-log"},
                                                             {T::NcclTests, "nccl-tests"},
                                                             {T::Perftest, "perftest"},
                                                             {T::Chokepoint, "chokepoint"}});
};
