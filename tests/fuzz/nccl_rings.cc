// The rings are a file that another process writes: any words in any slots, whatever the counts
// say. Every row has its end behind its begin, and memory stays bounded.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>

#include "capture/nccl/assembly.h"
#include "capture/nccl/ring_file.h"
#include "capture/nccl/rows.h"

namespace {

using namespace chokepoint;
using namespace chokepoint::capture::nccl;

constexpr std::int64_t kNowNs = 100'000'000'000;
constexpr std::size_t kMostOpen = 16;

void check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

std::uint64_t word_of(std::span<const unsigned char>& rest) {
  std::uint64_t word = 0;
  const std::size_t bytes = std::min<std::size_t>(rest.size(), sizeof word);
  std::memcpy(&word, rest.data(), bytes);
  rest = rest.subspan(bytes);
  return word;
}

// One file for all inputs: what an input wrote is taken back after it.
class Sheet {
 public:
  Sheet() : descriptor_(::memfd_create("rings", MFD_CLOEXEC)) {
    check(::ftruncate(descriptor_, sizeof(File)) == 0);
    void* const memory =
        ::mmap(nullptr, sizeof(File), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    check(memory != MAP_FAILED);
    file_ = static_cast<File*>(memory);
  }
  File& clean() {
    check(::ftruncate(descriptor_, 0) == 0 && ::ftruncate(descriptor_, sizeof(File)) == 0);
    file_->header.magic = kMagic;
    file_->header.version = kLayoutVersion;
    return *file_;
  }
  sys::Descriptor reader() const { return sys::Descriptor(::dup(descriptor_)); }

 private:
  int descriptor_;
  File* file_ = nullptr;
};

}  // namespace

// The input is records: a byte for the ring, a byte for what is done to its counts, a length, and
// words. NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static Sheet sheet;
  File& file = sheet.clean();
  RingFile reader(sheet.reader());
  Rows rows;
  Assembly assembly(
      [&](const Operation& operation, const Membership* member, const GpuClock& clock) {
        const record::Collective row = rows.row_of(operation, member, clock, {});
        check(row.start_ns <= row.end_ns);
        check(row.bytes.value_or(0) >= 0);
        check(row.waited_ns.value_or(0) >= 0 && row.kept_waiting_ns.value_or(0) >= 0);
        check(row.communicator.value_or(0) < 1 << 23);
      },
      {.open = kMostOpen, .communicators = 4});
  std::span<const unsigned char> rest(data, size);
  std::int64_t now_ns = kNowNs;
  while (rest.size() >= 3) {
    Ring& ring = file.rings.at(rest[0] % kRings);
    const unsigned char what = rest[1];
    std::size_t words = rest[2] % (kWords + 1);
    rest = rest.subspan(3);
    const std::uint64_t record = ring.written;
    Slot& slot = ring.slots.at(record % kSlots);
    for (std::size_t place = 0; place < words; ++place) {
      slot.words.at(place) = word_of(rest);
    }
    slot.number = (what & 1) != 0 ? word_of(rest) : 2 * (record + 1);
    ring.written = (what & 2) != 0 ? word_of(rest) : record + 1;
    if ((what & 4) != 0) {
      now_ns += 1'000'000'000;
      reader.read([&](const Entry& entry) { assembly.take(entry, now_ns); });
      assembly.settle(now_ns);
    }
    check(assembly.open() <= kMostOpen);
  }
  reader.read([&](const Entry& entry) { assembly.take(entry, now_ns); });
  assembly.settle(now_ns, true);
  check(assembly.open() == 0);
  return 0;
}
