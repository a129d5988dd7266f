// Times copies to and from a GPU, and checks the data that arrived. A Bench is one GPU with two
// buffers and two streams; the GPU must outlive it. One thread.
//
// Copies are timed by the GPU's own events: some to warm up, then batches of copies between two
// events, for the given time and three times at least. The median batch counts.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/gpu/cuda.h"
#include "probe/pcie/outcome.h"

namespace chokepoint::probe::pcie {

// How much each measurement copies, for how long, and what stops it.
struct Pace {
  std::uint64_t bytes = std::uint64_t{512} << 20;                  // of a copy
  std::chrono::nanoseconds time = std::chrono::milliseconds(500);  // of a measurement
  std::function<bool()> stopped = [] { return false; };
  std::atomic<bool>* copying = nullptr;  // true while copies are under way; may be null
};

// A stream and what is copied in it again and again. All lanes of a measurement copy at the same
// time and are streams of one GPU.
struct Lane {
  const gpu::Stream* stream = nullptr;
  std::function<Result<>()> copy = {};
};

// What all lanes move together, in 10^6 bit/s; each copy is of `bytes`. Error Interrupted if it was
// stopped.
Result<double> measure(std::span<const Lane> lanes, std::uint64_t bytes, const Pace& pace);

struct Verified {
  std::uint64_t bytes = 0;              // that were checked
  std::vector<std::string> wrong = {};  // one sentence per buffer that differs
};

class Bench {
 public:
  static Result<Bench> make(const gpu::Cuda& gpu, std::uint64_t bytes);

  // Each way, then both ways at once; sets the rates until one fails. Both spans are of `bytes`.
  Result<> copy(std::span<std::byte> source, std::span<std::byte> target, const Pace& pace,
                const std::string& memory, HostCopies& copies, Verified& verified) const;
  // To the GPU, from both at once.
  Result<double> two_streams(std::span<std::byte> one, std::span<std::byte> other,
                             const Pace& pace) const;

  const gpu::Cuda& gpu() const { return *gpu_; }
  const gpu::Stream& first() const { return first_; }
  const gpu::Stream& second() const { return second_; }
  const gpu::Memory& in() const { return in_; }
  const gpu::Memory& out() const { return out_; }

 private:
  Bench(const gpu::Cuda& gpu, gpu::Memory in, gpu::Memory out, gpu::Stream first,
        gpu::Stream second)
      : gpu_(&gpu),
        in_(std::move(in)),
        out_(std::move(out)),
        first_(std::move(first)),
        second_(std::move(second)) {}

  // What a measurement copies, to be checked afterwards.
  struct Copied {
    std::string what;
    std::span<std::byte> target;
    bool to_gpu;
    bool from_gpu;
  };
  Result<> once(std::span<const Lane> lanes, const Copied& copied, const Pace& pace,
                std::optional<double>& rate, Verified& verified) const;

  const gpu::Cuda* gpu_;
  gpu::Memory in_;   // what arrives on the GPU
  gpu::Memory out_;  // what leaves it
  gpu::Stream first_;
  gpu::Stream second_;
};

// The data that is copied: every eight bytes differ from their neighbours and from those of another
// seed.
void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed);
Result<> write_pattern(const gpu::Memory& memory, std::uint64_t seed);
// So that data of an earlier copy is not mistaken for data of the next.
Result<> clear(const gpu::Stream& stream, const gpu::Memory& memory);
// Compares this memory with the seed's pattern.
Result<> verify(const gpu::Memory& memory, std::uint64_t seed, const std::string& what,
                Verified& verified);
// The offset of the first difference; nullopt if there is none.
std::optional<std::uint64_t> difference(std::span<const std::byte> bytes, std::uint64_t seed);

}  // namespace chokepoint::probe::pcie
