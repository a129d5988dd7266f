// NCCL's calls in any order, with handles that were given out, that were changed, or that are made
// up, through all four tables. Every call answers 0; what is left to be read is of a known kind.
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "capture/nccl/plugin/calls.h"
#include "capture/nccl/plugin/process.h"

namespace {

using namespace chokepoint::capture::nccl;
namespace fs = std::filesystem;

void check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

fs::path& folder() {
  static fs::path folder;
  return folder;
}

void remove_folder() {
  std::error_code ignored;
  fs::remove_all(folder(), ignored);
}

class Calls {
 public:
  Calls(const unsigned char* data, std::size_t size) : at_(data), end_(data + size) {}

  void run() {
    while (at_ != end_) {
      call();
    }
    for (void* each : known_) {
      check(ncclProfiler_v5.finalize(each) == 0);
    }
  }

 private:
  unsigned byte() { return at_ == end_ ? 0 : *at_++; }

  std::uint64_t word() {
    std::uint64_t word = 0;
    for (int each = 0; each < 8; ++each) {
      word = word << 8 | byte();
    }
    return word;
  }

  // Even: one that was given out; odd: one that was changed in a bit; 255: anything.
  void* any() {
    const unsigned choice = byte();
    if (choice == 255 || known_.empty()) {
      return plugin::handle::pointer_of(choice == 255 ? word() : 0);
    }
    void* handle = known_[choice / 2 % known_.size()];
    const auto bits = plugin::handle::bits_of(handle);
    return (choice & 1) == 0 ? handle
                             : plugin::handle::pointer_of(bits ^ std::uint64_t{1} << (byte() % 64));
  }

  void keep(void* handle) {
    if (known_.size() < 64) {
      known_.push_back(handle);
    } else {
      known_[byte() % known_.size()] = handle;
    }
  }

  const char* text() {
    static constexpr std::array<const char*, 8> kTexts = {
        nullptr, "", "AllReduce", "Recv", "Broadcast", "ncclInt8", "RING", "nonsense"};
    return kTexts[byte() % kTexts.size()];
  }

  plugin::Descriptor descriptor() {
    plugin::Descriptor made = {};
    made.type = std::uint64_t{1} << (byte() % 20);
    made.parent = any();
    if (made.type == plugin::event::kCollective) {
      made.collective = {word(), text(), nullptr, nullptr, word(),          -1,    text(), 1, 1,
                         text(), text(), any(),   text(),  byte() % 2 == 0, word()};
    } else if (made.type == plugin::event::kMessage) {
      made.message = {text(), nullptr, text(), word(), -1, 1, any(), word()};
    } else if (made.type == plugin::event::kProxy) {
      const int process = byte() % 2 == 0 ? getpid() : static_cast<int>(byte());
      made.proxy = {process, 255, -1, 0, 0, static_cast<int>(byte())};
    } else {
      made.kernel = {static_cast<std::uint8_t>(byte()), 5};
    }
    return made;
  }

  void join() {
    void* context = nullptr;
    switch (byte() % 4) {
      case 0:
        check(ncclProfiler_v4.init(&context, &mask_, text(), 1, -1, 2, 0, nullptr) == 0);
        break;
      case 1:
        check(ncclProfiler_v5.init(&context, 1, &mask_, text(), 1, 2, 0, nullptr) == 0);
        break;
      case 2:
        check(ncclProfiler_v6.init(&context, 1, &mask_, text(), 1, 2, 0, nullptr) == 0);
        break;
      default:
        check(ncclProfiler_v7.init(&context, 1, &mask_, text(), 1, 2, 0, nullptr) == 0);
    }
    keep(context);
  }

  void start() {
    plugin::Descriptor made = descriptor();
    void* handle = nullptr;
    check(ncclProfiler_v5.start(any(), byte() == 7 ? nullptr : &handle,
                                byte() == 7 ? nullptr : &made) == 0);
    keep(handle);
  }

  void call() {
    plugin::StateArguments arguments = {.transferred = 100};
    switch (byte() % 6) {
      case 0:
        join();
        break;
      case 1:
        check(ncclProfiler_v5.finalize(any()) == 0);
        break;
      case 2:
        check(ncclProfiler_v5.stop(any()) == 0);
        break;
      case 3:
        check(ncclProfiler_v5.record(any(), static_cast<int>(byte()) - 2,
                                     byte() % 2 == 0 ? nullptr : &arguments) == 0);
        break;
      default:
        start();
        break;
    }
  }

  const unsigned char* at_;
  const unsigned char* end_;
  int mask_ = 0;
  std::vector<void*> known_;
};

void look() {
  const File* file = plugin::process().file.get();
  if (file == nullptr) {
    return;
  }
  const Ring& ring = file->rings[0];
  const std::uint64_t written = ring.written.load();
  for (std::uint64_t back = 1; back <= 64 && back <= written; ++back) {
    const Slot& slot = ring.slots[(written - back) % kSlots];
    check(slot.number.load() == 2 * (written - back + 1));
    const std::uint64_t kind = slot.words[0].load() & 0xff;
    check(kind >= 1 && kind <= 7);
  }
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): libFuzzer's names
extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** /*arguments*/) {
  std::string name = (fs::temp_directory_path() / "chokepoint-fuzz-XXXXXX").string();
  check(mkdtemp(name.data()) != nullptr);
  folder() = name;
  std::atexit(remove_folder);
  setenv(kFolderVariable, name.c_str(), 1);
  setenv(kNextVariable, "none", 1);
  setenv(plugin::kWindowVariable, "all", 1);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  Calls(data, size).run();
  look();
  return 0;
}
// NOLINTEND(readability-identifier-naming)
