#include "probe/collective/nccl/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/host/rdma.h"
#include "base/sys/root.h"
#include "probe/collective/nccl/collectives.h"
#include "probe/collective/nccl/way.h"

namespace chokepoint::probe::collective::nccl {
namespace {

// The driver's queue of kernels holds 1024: beyond that, enqueueing itself would wait.
constexpr int kMostAtOnce = 64;
constexpr std::chrono::microseconds kShortestNap{20};
constexpr std::chrono::microseconds kLongestNap{1000};

Result<std::optional<gpu::Memory>> allocate(const gpu::Cuda& cuda, std::uint64_t bytes) {
  TRY(gpu::Memory memory, gpu::Memory::allocate(cuda, std::max<std::uint64_t>(bytes, 1)));
  return std::optional(std::move(memory));
}

}  // namespace

Group::Group(Members members, LogFile log, ConnectionsSince connections)
    : members_(std::move(members)), log_(log), connections_(std::move(connections)) {}

Result<std::unique_ptr<Communicator>> Group::make(Members members, LogFile log,
                                                  ConnectionsSince connections) {
  std::unique_ptr<Group> group(new Group(std::move(members), log, std::move(connections)));
  TRY(gpu::Stream stream, gpu::Stream::make(*group->members_.cuda));
  group->stream_.emplace(std::move(stream));
  return group;
}

Group::~Group() {
  if (members_.comm != nullptr && members_.cuda->use()) {
    members_.library->functions().destroy(members_.comm);
  }
}

bool Group::is_in_place() const {
  return operation_.collective == Collective::AllReduce ||
         operation_.collective == Collective::Broadcast;
}

gpu::Address Group::input() const { return is_in_place() ? output_->address() : input_->address(); }

Result<> Group::prepare(const Operation& operation) {
  operation_ = operation;
  input_.reset();
  output_.reset();
  TRY(auto input, allocate(*members_.cuda, is_in_place() ? 0 : input_bytes(operation)));
  TRY(auto output, allocate(*members_.cuda, output_bytes(operation)));
  input_.emplace(std::move(*input));
  output_.emplace(std::move(*output));
  return {};
}

Result<> Group::write_input(std::span<const std::byte> bytes) {
  if (!output_ || bytes.size() != input_bytes(operation_)) {
    return fail(ErrorKind::Usage, kOperation, "input", "not of the size that was prepared");
  }
  return members_.cuda->write(input(), bytes);
}

Result<> Group::read_output(std::span<std::byte> bytes) const {
  if (!output_ || bytes.size() != output_bytes(operation_)) {
    return fail(ErrorKind::Usage, kOperation, "output", "not of the size that was prepared");
  }
  return members_.cuda->read(output_->address(), bytes);
}

Result<std::vector<double>> Group::run(int times) {
  std::vector<double> times_us;
  times_us.reserve(static_cast<std::size_t>(std::max(times, 0)));
  for (int left = times; left > 0; left -= kMostAtOnce) {
    TRY(run_some(std::min(left, kMostAtOnce), times_us));
  }
  return times_us;
}

Result<> Group::run_some(int times, std::vector<double>& times_us) {
  if (members_.comm == nullptr || !output_) {
    return fail(ErrorKind::Usage, kOperation, name_of(operation_.collective),
                "nothing is prepared, or NCCL has failed before");
  }
  TRY(const std::vector<gpu::Event> marks, events(times + 1));
  if (const Result<> begun = members_.cuda->use(); !begun) {
    return begun;
  }
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

Result<std::vector<gpu::Event>> Group::events(int count) const {
  std::vector<gpu::Event> made;
  for (int number = 0; number < count; ++number) {
    TRY(gpu::Event event, gpu::Event::make(*members_.cuda));
    made.push_back(std::move(event));
  }
  return made;
}

Result<> Group::enqueue(int times, const std::vector<gpu::Event>& events) {
  const Run run{.functions = members_.library->functions(),
                .comm = members_.comm,
                .stream = stream_->native(),
                .rank = members_.place.rank,
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

Result<> Group::wait_for(const gpu::Event& event) {
  const auto until = std::chrono::steady_clock::now() + members_.timeout;
  for (auto nap = kShortestNap;; nap = std::min(2 * nap, kLongestNap)) {
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
    std::this_thread::sleep_for(nap);
  }
}

Error Group::give_up(Error error) {
  members_.library->functions().abort(std::exchange(members_.comm, nullptr));
  return error;
}

Way Group::way() const {
  Way way = way_of({.log = read_log(log_.text()),
                    .connections = connections_.now(),
                    .ranks = members_.place.ranks,
                    .host = live_host(),
                    .rdma = host::read_rdma(sys::Root()),
                    .shares_gpu = members_.shares_gpu});
  way.library = members_.library->version();
  return way;
}

}  // namespace chokepoint::probe::collective::nccl
