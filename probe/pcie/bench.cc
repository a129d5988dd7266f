#include "probe/pcie/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "probe/pcie/pattern.h"

namespace chokepoint::probe::pcie {
namespace {

constexpr std::uint64_t kToGpu = 1;  // seeds
constexpr std::uint64_t kFromGpu = 2;

Result<> write_pattern(const gpu::Cuda& gpu, const gpu::Memory& memory, std::uint64_t seed) {
  std::vector<std::byte> bytes(memory.bytes());
  fill_pattern(bytes, seed);
  return gpu.write(memory.address(), bytes);
}

void note(std::span<const std::byte> bytes, std::uint64_t seed, const std::string& what,
          Verified& verified) {
  verified.bytes += bytes.size();
  if (const auto at = difference(bytes, seed)) {
    verified.wrong.push_back(fmt::format("{}: byte {} of {} differs", what, *at, bytes.size()));
  }
}

}  // namespace

Result<> verify(const gpu::Cuda& gpu, const gpu::Memory& memory, std::uint64_t seed,
                const std::string& what, Verified& verified) {
  std::vector<std::byte> bytes(memory.bytes());
  auto done = gpu.read(memory.address(), bytes);
  if (done) {
    note(bytes, seed, what, verified);
  }
  return done;
}

Result<Bench> Bench::make(const gpu::Cuda& gpu, std::uint64_t bytes) {
  TRY(auto in, gpu::Memory::allocate(gpu, bytes));
  TRY(auto out, gpu::Memory::allocate(gpu, bytes));
  TRY(auto first, gpu::Stream::make(gpu));
  TRY(auto second, gpu::Stream::make(gpu));
  return Bench(gpu, std::move(in), std::move(out), std::move(first), std::move(second));
}

// Nothing of an earlier copy may be taken for what arrives now.
Result<> Bench::clear(std::span<std::byte> target) const {
  std::ranges::fill(target, std::byte{0});
  auto done = first_.fill(in_.address(), 0, in_.bytes() / sizeof(std::uint32_t));
  return done ? first_.finish() : done;
}

Result<> Bench::once(std::span<const Lane> lanes, const Copied& copied, const Pace& pace,
                     std::optional<double>& rate, Verified& verified) const {
  if (auto done = clear(copied.target); !done) {
    return done;
  }
  TRY(const auto measured, measure(lanes, in_.bytes(), pace));
  rate = measured;
  if (copied.from_gpu) {
    note(copied.target, kFromGpu, copied.what, verified);
  }
  return copied.to_gpu ? verify(*gpu_, in_, kToGpu, copied.what, verified) : Result<>();
}

Result<> Bench::copy(std::span<std::byte> source, std::span<std::byte> target, const Pace& pace,
                     const std::string& memory, HostCopies& copies, Verified& verified) const {
  const Lane to{.stream = &first_, .copy = [&] { return first_.to_gpu(in_.address(), source); }};
  const Lane from{.stream = &second_,
                  .copy = [&] { return second_.from_gpu(target, out_.address()); }};
  fill_pattern(source, kToGpu);
  auto done = write_pattern(*gpu_, out_, kFromGpu);
  if (done) {
    done = once(std::array{to}, {"to the GPU from " + memory, target, true, false}, pace,
                copies.to_gpu_mbps, verified);
  }
  if (done) {
    done = once(std::array{from}, {"from the GPU to " + memory, target, false, true}, pace,
                copies.from_gpu_mbps, verified);
  }
  if (done) {
    done = once(std::array{to, from}, {"both ways, " + memory, target, true, true}, pace,
                copies.both_mbps, verified);
  }
  return done;
}

Result<double> Bench::two_streams(std::span<std::byte> one, std::span<std::byte> other,
                                  const Pace& pace) const {
  const std::array lanes{
      Lane{.stream = &first_, .copy = [&] { return first_.to_gpu(in_.address(), one); }},
      Lane{.stream = &second_, .copy = [&] { return second_.to_gpu(out_.address(), other); }}};
  return measure(lanes, one.size(), pace);
}

}  // namespace chokepoint::probe::pcie
