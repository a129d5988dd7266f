// One GPU with two buffers and two streams, and the copies between them and given host memory:
// each way, both ways at once, and the same way twice. Every measurement holds what arrived against
// what was sent. The GPU must outlive it. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/gpu/cuda.h"
#include "probe/pcie/outcome.h"
#include "probe/pcie/pace.h"
#include "probe/pcie/stopwatch.h"

namespace chokepoint::probe::pcie {

// What was verified, and what of it was wrong.
struct Verified {
  std::uint64_t bytes = 0;
  std::vector<std::string> wrong = {};
};

class Bench {
 public:
  static Result<Bench> make(const gpu::Cuda& gpu, std::uint64_t bytes);

  // Fills in what it measures, as far as it comes. Both spans are of `bytes`.
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

  // What a measurement copies, so that it can be held against what was sent.
  struct Copied {
    std::string what;
    std::span<std::byte> target;
    bool to_gpu;
    bool from_gpu;
  };
  Result<> once(std::span<const Lane> lanes, const Copied& copied, const Pace& pace,
                std::optional<double>& rate, Verified& verified) const;
  Result<> clear(std::span<std::byte> target) const;

  const gpu::Cuda* gpu_;
  gpu::Memory in_;   // what arrives on the GPU
  gpu::Memory out_;  // what leaves it
  gpu::Stream first_;
  gpu::Stream second_;
};

// Notes a difference between what arrived in this memory and the seed's pattern.
Result<> verify(const gpu::Cuda& gpu, const gpu::Memory& memory, std::uint64_t seed,
                const std::string& what, Verified& verified);

}  // namespace chokepoint::probe::pcie
