#include "probe/pcie/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/math/statistics.h"
#include "base/math/units.h"

namespace chokepoint::probe::pcie {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;  // odd: no word comes twice
constexpr std::uint64_t kToGpu = 1;                  // seeds
constexpr std::uint64_t kFromGpu = 2;
constexpr int kWarmUps = 4;
constexpr int kMinBatches = 3;
constexpr double kMaxBatchMs = 1000;  // a stop waits for the end of a batch
constexpr int kMaxCopies = 2000;      // in a batch: a driver's queue is finite

std::uint64_t word_of(std::uint64_t seed, std::uint64_t number) {
  const std::uint64_t mixed = (seed + number) * kStep;
  return mixed ^ (mixed >> 29);
}

// Sets the flag while copies are under way.
class Copying {
 public:
  explicit Copying(std::atomic<bool>* flag) : flag_(flag) { set(true); }
  Copying(const Copying&) = delete;
  Copying& operator=(const Copying&) = delete;
  ~Copying() { set(false); }

 private:
  void set(bool value) {
    if (flag_ != nullptr) {
      *flag_ = value;
    }
  }
  std::atomic<bool>* flag_;
};

// The events around a batch, made once.
class Batch {
 public:
  static Result<Batch> make(std::span<const Lane> lanes) {
    TRY(auto start, gpu::Event::make(lanes.front().stream->gpu()));
    Batch batch(lanes, std::move(start));
    for (const Lane& lane : lanes) {
      TRY(auto end, gpu::Event::make(lane.stream->gpu()));
      batch.ends_.push_back(std::move(end));
    }
    return batch;
  }

  // The milliseconds from the start to the end of the last lane.
  Result<double> run(int copies) {
    TRY(begin());
    for (int copy = 0; copy < copies; ++copy) {
      for (const Lane& lane : lanes_) {
        TRY(lane.copy());
      }
    }
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      TRY(lanes_[lane].stream->record(ends_[lane]));
    }
    return finish();
  }

 private:
  Batch(std::span<const Lane> lanes, gpu::Event start) : lanes_(lanes), start_(std::move(start)) {}

  Result<> begin() {
    TRY(lanes_.front().stream->record(start_));
    for (const Lane& lane : lanes_.subspan(1)) {
      TRY(lane.stream->wait_for(start_));
    }
    return {};
  }

  Result<double> finish() {
    double longest = 0;
    for (const gpu::Event& end : ends_) {
      TRY(end.finish());
      TRY(const double taken, end.milliseconds_since(start_));
      longest = std::max(longest, taken);
    }
    return longest;
  }

  std::span<const Lane> lanes_;
  gpu::Event start_;
  std::vector<gpu::Event> ends_;
};

struct Plan {
  int copies = 1;  // per batch
  int batches = kMinBatches;
};

Plan plan_of(std::chrono::nanoseconds time, double copy_ms) {
  const double whole_ms = static_cast<double>(time.count()) / math::kNsPerMs;
  const int batches = std::max(kMinBatches, static_cast<int>(std::ceil(whole_ms / kMaxBatchMs)));
  const double copies = copy_ms > 0 ? whole_ms / batches / copy_ms : 1;
  return {.copies = static_cast<int>(std::clamp(copies, 1.0, double{kMaxCopies})),
          .batches = batches};
}

void compare(std::span<const std::byte> bytes, std::uint64_t seed, const std::string& what,
             Verified& verified) {
  verified.bytes += bytes.size();
  if (const auto at = difference(bytes, seed)) {
    verified.wrong.push_back(fmt::format("{}: byte {} of {} differs", what, *at, bytes.size()));
  }
}

}  // namespace

void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed) {
  for (std::size_t at = 0; at < bytes.size(); at += kWord) {
    const std::uint64_t word = word_of(seed, at / kWord);
    std::memcpy(bytes.data() + at, &word, std::min(kWord, bytes.size() - at));
  }
}

Result<> write_pattern(const gpu::Memory& memory, std::uint64_t seed) {
  std::vector<std::byte> bytes(memory.bytes());
  fill_pattern(bytes, seed);
  return memory.gpu().write(memory.address(), bytes);
}

Result<> clear(const gpu::Stream& stream, const gpu::Memory& memory) {
  TRY(stream.fill(memory.address(), 0, memory.bytes() / sizeof(std::uint32_t)));
  return stream.finish();
}

std::optional<std::uint64_t> difference(std::span<const std::byte> bytes, std::uint64_t seed) {
  for (std::size_t at = 0; at < bytes.size(); at += kWord) {
    const std::uint64_t word = word_of(seed, at / kWord);
    const std::size_t length = std::min(kWord, bytes.size() - at);
    if (std::memcmp(bytes.data() + at, &word, length) == 0) {
      continue;
    }
    const auto* wanted = reinterpret_cast<const std::byte*>(&word);
    const auto [found, _] =
        std::mismatch(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                      bytes.begin() + static_cast<std::ptrdiff_t>(at + length), wanted);
    return static_cast<std::uint64_t>(found - bytes.begin());
  }
  return std::nullopt;
}

Result<double> measure(std::span<const Lane> lanes, std::uint64_t bytes, const Pace& pace) {
  TRY(auto batch, Batch::make(lanes));
  const Copying copying(pace.copying);
  TRY(const double warm_ms, batch.run(kWarmUps));
  const Plan plan = plan_of(pace.time, warm_ms / kWarmUps);
  std::vector<double> rates;
  for (int i = 0; i < plan.batches; ++i) {
    if (pace.stopped()) {
      return fail(ErrorKind::Interrupted, "measure copies", "", "stopped");
    }
    TRY(const double taken, batch.run(plan.copies));
    const double bits =
        static_cast<double>(bytes) * math::kBits * plan.copies * static_cast<double>(lanes.size());
    if (taken > 0) {
      rates.push_back(bits / taken / 1000);
    }
  }
  const auto median = math::median(rates);
  return median ? Result<double>(*median)
                : fail(ErrorKind::Io, "measure copies", lanes.front().stream->gpu().name(),
                       "took less time than its events can measure", "larger --bytes");
}

Result<> verify(const gpu::Memory& memory, std::uint64_t seed, const std::string& what,
                Verified& verified) {
  std::vector<std::byte> bytes(memory.bytes());
  TRY(memory.gpu().read(memory.address(), bytes));
  compare(bytes, seed, what, verified);
  return {};
}

Result<Bench> Bench::make(const gpu::Cuda& gpu, std::uint64_t bytes) {
  TRY(auto in, gpu::Memory::allocate(gpu, bytes));
  TRY(auto out, gpu::Memory::allocate(gpu, bytes));
  TRY(auto first, gpu::Stream::make(gpu));
  TRY(auto second, gpu::Stream::make(gpu));
  return Bench(gpu, std::move(in), std::move(out), std::move(first), std::move(second));
}

Result<> Bench::once(std::span<const Lane> lanes, const Copied& copied, const Pace& pace,
                     std::optional<double>& rate, Verified& verified) const {
  std::ranges::fill(copied.target, std::byte{0});
  TRY(clear(first_, in_));
  TRY(rate, measure(lanes, in_.bytes(), pace));
  if (copied.from_gpu) {
    compare(copied.target, kFromGpu, copied.what, verified);
  }
  return copied.to_gpu ? verify(in_, kToGpu, copied.what, verified) : Result<>();
}

Result<> Bench::copy(std::span<std::byte> source, std::span<std::byte> target, const Pace& pace,
                     const std::string& memory, HostCopies& copies, Verified& verified) const {
  const Lane to{.stream = &first_, .copy = [&] { return first_.to_gpu(in_.address(), source); }};
  const Lane from{.stream = &second_,
                  .copy = [&] { return second_.from_gpu(target, out_.address()); }};
  fill_pattern(source, kToGpu);
  TRY(write_pattern(out_, kFromGpu));
  TRY(once(std::array{to}, {"to the GPU from " + memory, target, true, false}, pace,
           copies.to_gpu_mbps, verified));
  TRY(once(std::array{from}, {"from the GPU to " + memory, target, false, true}, pace,
           copies.from_gpu_mbps, verified));
  return once(std::array{to, from}, {"both directions, " + memory, target, true, true}, pace,
              copies.both_mbps, verified);
}

Result<double> Bench::two_streams(std::span<std::byte> one, std::span<std::byte> other,
                                  const Pace& pace) const {
  const std::array lanes{
      Lane{.stream = &first_, .copy = [&] { return first_.to_gpu(in_.address(), one); }},
      Lane{.stream = &second_, .copy = [&] { return second_.to_gpu(out_.address(), other); }}};
  return measure(lanes, one.size(), pace);
}

}  // namespace chokepoint::probe::pcie
