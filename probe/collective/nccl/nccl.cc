#include "probe/collective/nccl/nccl.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/gpu/cuda.h"
#include "base/gpu/driver.h"
#include "base/host/rdma.h"
#include "base/sys/error.h"
#include "base/sys/late.h"
#include "base/sys/root.h"
#include "probe/collective/communicator.h"
#include "probe/collective/data_path.h"
#include "probe/collective/nccl/library.h"
#include "probe/collective/operation.h"

namespace chokepoint::probe::collective::nccl {
namespace {

// One run of a collective in the stream. All-to-all and the ring are groups of sends and receives,
// as in nccl-tests and PyTorch.
struct Run {
  const Functions& functions;
  Comm comm;
  Stream stream;
  int rank;
  gpu::Address input;
  gpu::Address output;
};

void* pointer(gpu::Address address) { return std::bit_cast<void*>(address); }

// Closes the group even if a call inside it failed; returns the first failure.
template <class Function>
Code grouped(const Functions& functions, Function&& calls) {
  if (const Code code = functions.group_start(); code != kSuccess) {
    return code;
  }
  const Code inside = calls();
  const Code end = functions.group_end();
  return inside != kSuccess ? inside : end;
}

Code all_to_all(const Operation& operation, const Run& run, Type type) {
  const std::uint64_t share = operation.bytes / static_cast<std::uint64_t>(operation.ranks);
  const std::size_t count = share / bytes_of(operation.type);
  return grouped(run.functions, [&] {
    Code code = kSuccess;
    for (int peer = 0; code == kSuccess && peer < operation.ranks; ++peer) {
      const gpu::Address offset = share * static_cast<std::uint64_t>(peer);
      code =
          run.functions.send(pointer(run.input + offset), count, type, peer, run.comm, run.stream);
      if (code == kSuccess) {
        code = run.functions.receive(pointer(run.output + offset), count, type, peer, run.comm,
                                     run.stream);
      }
    }
    return code;
  });
}

Code send_to_next(const Operation& operation, const Run& run, Type type) {
  const std::size_t count = operation.bytes / bytes_of(operation.type);
  const int next = (run.rank + 1) % operation.ranks;
  const int previous = (run.rank + operation.ranks - 1) % operation.ranks;
  return grouped(run.functions, [&] {
    const Code code =
        run.functions.send(pointer(run.input), count, type, next, run.comm, run.stream);
    return code != kSuccess ? code
                            : run.functions.receive(pointer(run.output), count, type, previous,
                                                    run.comm, run.stream);
  });
}

Code start(const Operation& operation, const Run& run) {
  const Type type = type_of(operation.type);
  const std::size_t given = input_bytes(operation) / bytes_of(operation.type);
  const std::size_t had = output_bytes(operation) / bytes_of(operation.type);
  const void* input = pointer(run.input);
  void* output = pointer(run.output);
  switch (operation.collective) {
    case Collective::AllReduce:
      return run.functions.all_reduce(input, output, given, type, kSum, run.comm, run.stream);
    case Collective::AllGather:
      return run.functions.all_gather(input, output, given, type, run.comm, run.stream);
    case Collective::ReduceScatter:
      return run.functions.reduce_scatter(input, output, had, type, kSum, run.comm, run.stream);
    case Collective::Broadcast:
      return run.functions.broadcast(input, output, given, type, operation.root, run.comm,
                                     run.stream);
    case Collective::AllToAll:
      return all_to_all(operation, run, type);
    case Collective::SendReceive:
      return send_to_next(operation, run, type);
  }
  return kInvalidUsage;
}

// NCCL is configured by environment variables. They are set before its first call and before other
// threads start, and never where the user has set them.

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

void set_unless_set(const char* name, const std::string& value) {
  if (!is_set(name)) {
    setenv(name, value.c_str(), 1);
  }
}

// NCCL's log in a memory file, so that a killed process leaves nothing behind, unless the user
// keeps a log: that one goes to standard error if no file is named, since standard output is for
// results. The descriptor stays open: NCCL may open the file by its number at any time.
class LogFile {
 public:
  static Result<LogFile> start() {
    LogFile log;
    if (is_set("NCCL_DEBUG") || is_set("NCCL_DEBUG_FILE")) {
      set_unless_set("NCCL_DEBUG_FILE", "/dev/stderr");
      return log;
    }
    const int memory = memfd_create("nccl-log", MFD_CLOEXEC);
    if (memory < 0) {
      return fail(from_errno(errno, "backend nccl", "NCCL's log"));
    }
    log.descriptor_ = memory;
    set_unless_set("NCCL_DEBUG_SUBSYS", "INIT,NET");
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_FILE", fmt::format("/proc/self/fd/{}", memory).c_str(), 1);
    return log;
  }

  // Empty if the user keeps the log.
  std::string text() const {
    std::string text;
    std::array<char, 4096> piece{};
    while (descriptor_) {
      const ssize_t got =
          pread(*descriptor_, piece.data(), piece.size(), static_cast<off_t>(text.size()));
      if (got <= 0) {
        break;
      }
      text.append(piece.data(), static_cast<std::size_t>(got));
    }
    return text;
  }

 private:
  std::optional<int> descriptor_ = {};
};

// `named`: exact names, with commas between; or "^…" and "=…" as NCCL takes them.
void use_interface(const std::string& named) {
  if (!named.empty()) {
    const bool has_mark = named.starts_with('^') || named.starts_with('=');
    setenv("NCCL_SOCKET_IFNAME", ((has_mark ? "" : "=") + named).c_str(), 1);
  }
}

// Ranks that share a GPU have to look like those of different hosts, and use sockets.
void share_gpus(const std::string& host, int rank) {
  set_unless_set("NCCL_HOSTID", host + "-" + std::to_string(rank));
  set_unless_set("NCCL_NET", "Socket");
  set_unless_set("NCCL_P2P_DISABLE", "1");
  set_unless_set("NCCL_SHM_DISABLE", "1");
}

struct Members {
  std::shared_ptr<const Library> library;
  std::shared_ptr<const gpu::Cuda> cuda;
  Comm comm;
  RankPosition position;
  std::chrono::seconds timeout;
  bool shares_gpu;
};

// The driver's queue holds 1024 kernels: beyond that, enqueueing itself would wait.
constexpr int kMaxEnqueued = 64;
constexpr std::chrono::microseconds kMinSleep{20};
constexpr std::chrono::microseconds kMaxSleep{1000};

Result<std::optional<gpu::Memory>> allocate(const gpu::Cuda& cuda, std::uint64_t bytes) {
  TRY(gpu::Memory memory, gpu::Memory::allocate(cuda, std::max<std::uint64_t>(bytes, 1)));
  return std::optional(std::move(memory));
}

// Ranks connected by NCCL, each with memory and a stream of its GPU. If a rank is gone, NCCL's
// kernels never end: while this waits it asks NCCL for errors, and aborts.
class Group final : public Communicator {
 public:
  // Takes ownership of `members.comm`, also if this fails.
  static Result<std::unique_ptr<Communicator>> make(Members members, LogFile log,
                                                    ConnectionsSince connections) {
    std::unique_ptr<Group> group(new Group(std::move(members), log, std::move(connections)));
    TRY(gpu::Stream stream, gpu::Stream::make(*group->members_.cuda));
    group->stream_.emplace(std::move(stream));
    return group;
  }

  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group() override {
    if (members_.comm != nullptr && members_.cuda->use()) {
      members_.library->functions().destroy(members_.comm);
    }
  }

  Result<> prepare(const Operation& operation) override {
    operation_ = operation;
    input_.reset();
    output_.reset();
    TRY(auto input, allocate(*members_.cuda, is_in_place(operation) ? 0 : input_bytes(operation)));
    TRY(auto output, allocate(*members_.cuda, output_bytes(operation)));
    input_.emplace(std::move(*input));
    output_.emplace(std::move(*output));
    return {};
  }

  Result<> write_input(std::span<const std::byte> bytes) override {
    if (!output_ || bytes.size() != input_bytes(operation_)) {
      return fail(ErrorKind::Usage, kOperation, "input", "not of the size that was prepared");
    }
    return members_.cuda->write(input(), bytes);
  }

  Result<std::vector<double>> run(int times) override {
    std::vector<double> times_us;
    times_us.reserve(static_cast<std::size_t>(std::max(times, 0)));
    for (int left = times; left > 0; left -= kMaxEnqueued) {
      TRY(run_some(std::min(left, kMaxEnqueued), times_us));
    }
    return times_us;
  }

  Result<> read_output(std::span<std::byte> bytes) const override {
    if (!output_ || bytes.size() != output_bytes(operation_)) {
      return fail(ErrorKind::Usage, kOperation, "output", "not of the size that was prepared");
    }
    return members_.cuda->read(output_->address(), bytes);
  }

  DataPath data_path() const override {
    DataPath data_path = data_path_of({.log = read_log(log_.text()),
                                       .connections = connections_.now(),
                                       .ranks = members_.position.ranks,
                                       .host = live_host(),
                                       .rdma = host::read_rdma(sys::Root()),
                                       .shares_gpu = members_.shares_gpu});
    data_path.library = members_.library->version();
    return data_path;
  }

 private:
  Group(Members members, LogFile log, ConnectionsSince connections)
      : members_(std::move(members)), log_(log), connections_(std::move(connections)) {}

  Result<> run_some(int times, std::vector<double>& times_us) {
    if (members_.comm == nullptr || !output_) {
      return fail(ErrorKind::Usage, kOperation, name_of(operation_.collective),
                  "nothing is prepared, or NCCL has failed before");
    }
    TRY(const std::vector<gpu::Event> marks, events(times + 1));
    TRY(members_.cuda->use());
    if (Result<> given = enqueue(times, marks); !given) {
      return fail(give_up(std::move(given.error())));
    }
    if (Result<> waited = wait_for(marks.back()); !waited) {
      return fail(give_up(std::move(waited.error())));
    }
    for (std::size_t at = 1; at < marks.size(); ++at) {
      TRY(const double took, marks[at].milliseconds_since(marks[at - 1]));
      times_us.push_back(took * 1000);
    }
    return {};
  }

  Result<std::vector<gpu::Event>> events(int count) const {
    std::vector<gpu::Event> made;
    for (int number = 0; number < count; ++number) {
      TRY(gpu::Event event, gpu::Event::make(*members_.cuda));
      made.push_back(std::move(event));
    }
    return made;
  }

  Result<> enqueue(int times, const std::vector<gpu::Event>& events) {
    const Run run{.functions = members_.library->functions(),
                  .comm = members_.comm,
                  .stream = stream_->native(),
                  .rank = members_.position.rank,
                  .input = input(),
                  .output = output_->address()};
    Result<> done = stream_->record(events.front());
    for (int number = 1; done && number <= times; ++number) {
      done = members_.library->check(start(operation_, run), name_of(operation_.collective));
      if (done) {
        done = stream_->record(events[static_cast<std::size_t>(number)]);
      }
    }
    return done;
  }

  // Until the event is over, NCCL has failed, or it takes too long.
  Result<> wait_for(const gpu::Event& event) {
    const auto until = std::chrono::steady_clock::now() + members_.timeout;
    for (auto pause = kMinSleep;; pause = std::min(2 * pause, kMaxSleep)) {
      const Result<bool> over = event.is_over();
      if (!over || *over) {
        return over ? Result<>() : fail(over.error());
      }
      Code code = kSuccess;
      members_.library->functions().async_error(members_.comm, &code);
      if (code != kSuccess && code != kInProgress) {
        return members_.library->check(code, name_of(operation_.collective));
      }
      if (std::chrono::steady_clock::now() > until) {
        return fail(ErrorKind::Timeout, kOperation, name_of(operation_.collective),
                    fmt::format("not over within {} s", members_.timeout.count()),
                    "a rank may be gone or stuck; see what the others say");
      }
      std::this_thread::sleep_for(pause);
    }
  }

  Error give_up(Error error) {
    members_.library->functions().abort(std::exchange(members_.comm, nullptr));
    return error;
  }

  gpu::Address input() const {
    return is_in_place(operation_) ? output_->address() : input_->address();
  }

  Members members_;
  LogFile log_;
  ConnectionsSince connections_;
  Operation operation_;
  // Declared after the members that they need.
  std::optional<gpu::Stream> stream_;
  std::optional<gpu::Memory> input_;
  std::optional<gpu::Memory> output_;
};

// Names the NCCL that was found, since only the GPU is missing.
Error without_gpu(const Library& library, const Error& error) {
  return {error.kind,
          std::string(kOperation),
          library.version(),
          0,
          "opened, but " + error.subject + ": " + error.reason,
          error.next_step};
}

Result<std::unique_ptr<gpu::Cuda>> open_gpu(const Library& library, const std::string& name,
                                            const RankPosition& position,
                                            const BackendOptions& options) {
  const auto driver = gpu::Driver::open(name);
  if (!driver) {
    return fail(without_gpu(library, driver.error()));
  }
  auto cuda =
      gpu::Cuda::open(*driver, options.gpu.value_or(position.local_rank % (*driver)->gpus()));
  return cuda ? std::move(cuda) : fail(without_gpu(library, cuda.error()));
}

// Identifies a GPU among hosts: by the boot id, since hosts may share a name, and the containers of
// one host may have several.
std::string gpu_identity(const RankPosition& position, const gpu::Cuda& cuda) {
  return sys::Root().text("/proc/sys/kernel/random/boot_id").value_or(position.host) + " " +
         cuda.pci_address().value_or(std::to_string(cuda.number()));
}

std::string key_of(int rank) { return fmt::format("nccl/gpu/{}", rank); }

// Whether any GPU has several ranks. All ranks must know it, since all must use the same network.
Result<bool> shares_gpu(const RankPosition& position, const gpu::Cuda& cuda, Store& store) {
  TRY(store.set(key_of(position.rank), to_hex(gpu_identity(position, cuda))));
  std::vector<std::string> gpus;
  for (int rank = 0; rank < position.ranks; ++rank) {
    TRY(std::string gpu, store.get(key_of(rank)));
    gpus.push_back(std::move(gpu));
  }
  std::ranges::sort(gpus);
  return std::ranges::adjacent_find(gpus) != gpus.end();
}

Result<UniqueId> exchange_id(const Library& library, const RankPosition& position, Store& store) {
  UniqueId id{};
  if (position.rank == 0) {
    TRY(library.check(library.functions().unique_id(&id), "unique id"));
    TRY(store.set("nccl/id", to_hex({id.bytes.data(), id.bytes.size()})));
    return id;
  }
  TRY(const std::string text, store.get("nccl/id"));
  const std::optional<std::string> bytes = from_hex(text);
  if (!bytes || bytes->size() != id.bytes.size()) {
    return fail(ErrorKind::Malformed, kOperation, "unique id", "rank 0 left something else",
                "the ranks may run different versions of chokepoint");
  }
  std::ranges::copy(*bytes, id.bytes.begin());
  return id;
}

using Joined = std::pair<Code, Comm>;

// On a thread of its own, which stays behind if NCCL waits for a rank that never comes.
Result<Comm> join(const std::shared_ptr<const Library>& library,
                  const std::shared_ptr<const gpu::Cuda>& cuda, const RankPosition& position,
                  const UniqueId& id, std::chrono::seconds timeout) {
  sys::Late<Joined> joining([library, cuda, id, rank = position.rank, ranks = position.ranks] {
    Comm comm = nullptr;
    if (!cuda->use()) {
      return Joined{kSystemError, nullptr};
    }
    return Joined{library->functions().init_rank(&comm, ranks, id, rank), comm};
  });
  const auto joined = joining.by(std::chrono::steady_clock::now() + timeout);
  if (!joined) {
    return fail(ErrorKind::Timeout, kOperation, library->version(),
                fmt::format("the ranks were not connected within {} s", timeout.count()),
                "NCCL_SOCKET_IFNAME names the interface by which the hosts reach one another");
  }
  TRY(library->check(joined->first, "connecting the ranks"));
  return joined->second;
}

Result<std::unique_ptr<Communicator>> open(const NcclLibraries& names, const RankPosition& position,
                                           Store& store, const BackendOptions& options) {
  if (!options.algorithm.empty()) {
    return fail(ErrorKind::Usage, kOperation, options.algorithm, "NCCL chooses by itself",
                "NCCL_ALGO and NCCL_PROTO restrict it");
  }
  TRY(LogFile log, LogFile::start());
  use_interface(options.interface);
  TRY(const auto library, Library::open(names.nccl));
  TRY(auto opened, open_gpu(*library, names.cuda, position, options));
  const std::shared_ptr<const gpu::Cuda> cuda = std::move(opened);
  TRY(const bool shared, shares_gpu(position, *cuda, store));
  if (shared) {
    share_gpus(position.host, position.rank);
  }
  ConnectionsSince connections;
  TRY(const UniqueId id, exchange_id(*library, position, store));
  TRY(const Comm comm, join(library, cuda, position, id, options.timeout));
  return Group::make({.library = library,
                      .cuda = cuda,
                      .comm = comm,
                      .position = position,
                      .timeout = options.timeout,
                      .shares_gpu = shared},
                     log, std::move(connections));
}

}  // namespace
}  // namespace chokepoint::probe::collective::nccl

namespace chokepoint::probe::collective {

Backend nccl_backend(const NcclLibraries& libraries) {
  return {.name = "nccl",
          .open = [libraries](const RankPosition& position, Store& store,
                              const BackendOptions& options) {
            return nccl::open(libraries, position, store, options);
          }};
}

}  // namespace chokepoint::probe::collective
