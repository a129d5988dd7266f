#include "capture/nccl/ring_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace chokepoint::capture::nccl {
namespace {

constexpr std::size_t kSlotsPerRead = 256;  // slots read at once

constexpr std::size_t ring_at(std::size_t ring) { return sizeof(Header) + ring * sizeof(Ring); }
constexpr std::size_t kSlotsAt = sizeof(Ring) - kSlots * sizeof(Slot);

static_assert(sizeof(File) == ring_at(kRings));

std::uint64_t word_of(const unsigned char* bytes, std::size_t word) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes + word * sizeof value, sizeof value);
  return value;
}

constexpr std::uint64_t number_of(std::uint64_t record) { return 2 * (record + 1); }

}  // namespace

bool RingFile::read_at(std::size_t offset, void* into, std::size_t bytes) const {
  return ::pread(file_.get(), into, bytes, static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(bytes);
}

FileState RingFile::read_header() {
  std::array<std::uint64_t, sizeof(Header) / sizeof(std::uint64_t)> words{};
  if (!read_at(0, words.data(), sizeof words) || words[0] != kMagic) {
    return FileState::Unready;
  }
  version_ = words[1];
  process_ = words[2];
  table_ = words[3];
  unkept_ = words[4];
  choice_ = Choice::of(words[7]);
  if (version_ != kLayoutVersion) {
    return FileState::Foreign;
  }
  struct stat status{};
  const bool is_whole = ::fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                        static_cast<std::size_t>(status.st_size) >= sizeof(File);
  return is_whole ? FileState::Good : FileState::Unready;
}

FileState RingFile::read(const OnEntry& on_entry) {
  had_news_ = false;
  const FileState state = read_header();
  if (state != FileState::Good) {
    return state;
  }
  for (std::size_t ring = 0; ring < kRings; ++ring) {
    std::array<std::uint64_t, 2> words{};  // thread, written
    if (!read_at(ring_at(ring), words.data(), sizeof words)) {
      return FileState::Unready;
    }
    if (words[1] != next_.at(ring)) {
      had_news_ = true;
      read_ring(ring, words[1], on_entry);
    }
  }
  return state;
}

// The kernel grants a read lease (fcntl(2), F_SETLEASE) only while no process has the file open for
// writing. It is returned at once; a process that opens the file in between makes the kernel send a
// signal, so one that is ignored by default is chosen.
bool RingFile::has_no_writer() const {
  return ::fcntl(file_.get(), F_SETSIG, SIGURG) == 0 &&
         ::fcntl(file_.get(), F_SETLEASE, F_RDLCK) == 0 &&
         ::fcntl(file_.get(), F_SETLEASE, F_UNLCK) == 0;
}

void RingFile::read_ring(std::size_t ring, std::uint64_t written, const OnEntry& on_entry) {
  std::uint64_t& next = next_.at(ring);
  if (written < next) {
    next = written;  // no writer of ours goes back
    return;
  }
  if (written - next > kSlots) {
    overwritten_ += written - next - kSlots;
    next = written - kSlots;
  }
  while (next < written) {
    const std::size_t slot = next % kSlots;
    const auto count = static_cast<std::size_t>(
        std::min<std::uint64_t>({kSlotsPerRead, written - next, kSlots - slot}));
    if (!read_slots(ring, slot, count, first_) || !read_slots(ring, slot, count, again_)) {
      return;
    }
    for (std::size_t place = 0; place < count; ++place, ++next) {
      const unsigned char* bytes = first_.data() + place * sizeof(Slot);
      if (word_of(bytes, 0) != number_of(next) ||
          word_of(again_.data() + place * sizeof(Slot), 0) != number_of(next)) {
        ++overwritten_;
        continue;
      }
      Entry entry;
      std::memcpy(entry.words.data(), bytes + sizeof(std::uint64_t), sizeof entry.words);
      on_entry(entry);
    }
  }
}

bool RingFile::read_slots(std::size_t ring, std::uint64_t from, std::size_t count,
                          Bytes& into) const {
  into.resize(count * sizeof(Slot));
  return read_at(ring_at(ring) + kSlotsAt + static_cast<std::size_t>(from) * sizeof(Slot),
                 into.data(), into.size());
}

}  // namespace chokepoint::capture::nccl
