#include "probe/tcp/payload.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

namespace chokepoint::probe::tcp {
namespace {

// Small enough to stay in a core's cache, large enough that a call moves a lot.
constexpr std::size_t kSize = std::size_t{1} << 20;

void fill(std::byte* begin) {
  std::mt19937_64 random(0x63686f6b65);
  for (std::size_t at = 0; at < kSize; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(begin + at, &word, sizeof(word));
  }
}

}  // namespace

Result<Payload> Payload::make() {
  void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return fail(from_errno(errno, "prepare", "payload"));
  }
  auto* begin = static_cast<std::byte*>(memory);
  fill(begin);
  return Payload({begin, kSize});
}

Payload::Payload(Payload&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

Payload::~Payload() {
  if (!bytes_.empty()) {
    munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
}

}  // namespace chokepoint::probe::tcp
