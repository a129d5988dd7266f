#include "tests/capture/nccl/plugin/loaded.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace chokepoint::capture::nccl::test {
namespace {

namespace fs = std::filesystem;

fs::path new_folder() {
  std::string name = (fs::temp_directory_path() / "chokepoint-nccl-XXXXXX").string();
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  return name;
}

void set(const char* variable, const std::optional<std::string>& value) {
  if (value) {
    setenv(variable, value->c_str(), 1);
  } else {
    unsetenv(variable);
  }
}

template <typename Table>
const Table* table(void* library, const char* name) {
  const auto* found = static_cast<const Table*>(dlsym(library, name));
  EXPECT_NE(found, nullptr) << name;
  return found;
}

Descriptor of_type(std::uint64_t type, void* parent) {
  Descriptor descriptor = {};
  descriptor.type = type;
  descriptor.parent = parent;
  return descriptor;
}

}  // namespace

Loaded::Loaded(const Settings& settings) : own_folder_(new_folder()) {
  folder_ = settings.folder.value_or(own_folder_ / "records");
  if (!settings.folder) {
    fs::create_directory(folder_);
    fs::permissions(folder_, fs::perms::owner_all);
  }
  set(kFolderVariable, settings.has_folder ? std::optional(folder_.string()) : std::nullopt);
  set(kNextVariable, settings.next);
  set("CHOKEPOINT_NCCL_WINDOW", settings.window);
  set("CHOKEPOINT_NCCL_EVENTS", settings.events);
  const fs::path copy = own_folder_ / "plugin.so";
  fs::copy_file(CHOKEPOINT_PLUGIN, copy);
  library_ = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library_, nullptr) << dlerror();
  four_ = table<plugin::Table4>(library_, "ncclProfiler_v4");
  five_ = table<plugin::Table5>(library_, "ncclProfiler_v5");
  six_ = table<plugin::Table5>(library_, "ncclProfiler_v6");
  seven_ = table<plugin::Table5>(library_, "ncclProfiler_v7");
}

Loaded::~Loaded() {
  if (file_ != nullptr) {
    munmap(const_cast<File*>(file_), sizeof(File));
    close(descriptor_);
  }
  dlclose(library_);
  std::error_code ignored;
  fs::remove_all(own_folder_, ignored);
}

void* Loaded::join(std::uint64_t id) {
  void* context = nullptr;
  EXPECT_EQ(five_->init(&context, id, &mask_, "name", 1, 2, 1, nullptr), 0);
  return context;
}

void* Loaded::start(void* context, Descriptor descriptor) const {
  void* handle = &descriptor;
  EXPECT_EQ(five_->start(context, &handle, &descriptor), 0);
  return handle;
}

void Loaded::state(void* handle, State state, std::uint64_t value) const {
  StateArguments arguments = {.timer = value};
  EXPECT_EQ(five_->record(handle, static_cast<int>(state), &arguments), 0);
}

std::optional<fs::path> Loaded::path() const {
  std::error_code ignored;
  if (fs::is_directory(folder_, ignored)) {
    for (const auto& each : fs::directory_iterator(folder_)) {
      if (each.path().extension() == kFileSuffix) {
        return each.path();
      }
    }
  }
  return std::nullopt;
}

const File* Loaded::file() {
  const std::optional<fs::path> found = path();
  if (file_ == nullptr && found) {
    descriptor_ = open(found->c_str(), O_RDONLY | O_CLOEXEC);
    void* mapped = mmap(nullptr, sizeof(File), PROT_READ, MAP_SHARED, descriptor_, 0);
    EXPECT_NE(mapped, MAP_FAILED);
    file_ = static_cast<const File*>(mapped);
  }
  return file_;
}

// Looking at a hole through a mapping would fill it, or fail where the file system is full.
bool Loaded::is_hole(const Ring& ring) const {
  std::uint64_t thread_and_written[2] = {};
  const auto offset = reinterpret_cast<const char*>(&ring) - reinterpret_cast<const char*>(file_);
  EXPECT_EQ(pread(descriptor_, thread_and_written, sizeof thread_and_written, offset), 16);
  return thread_and_written[1] == 0;
}

std::vector<Words> Loaded::records() {
  std::vector<Words> records;
  if (file() == nullptr) {
    return records;
  }
  for (const Ring& ring : file_->rings) {
    if (is_hole(ring)) {
      continue;
    }
    for (std::uint64_t each = 0; each < ring.written.load(); ++each) {
      if (const std::optional<Words> record = read(ring, each)) {
        records.push_back(*record);
      }
    }
  }
  return records;
}

std::vector<Words> Loaded::records(Kind kind) {
  std::vector<Words> found = records();
  std::erase_if(found, [&](const Words& each) { return kind_of(each) != kind; });
  return found;
}

std::optional<Words> read(const Ring& ring, std::uint64_t number) {
  const Slot& slot = ring.slots[number % kSlots];
  const std::uint64_t wanted = 2 * (number + 1);
  if (slot.number.load(std::memory_order_acquire) != wanted) {
    return std::nullopt;
  }
  Words words = {};
  for (std::size_t each = 0; each < kWords; ++each) {
    words[each] = slot.words[each].load(std::memory_order_acquire);
  }
  return slot.number.load(std::memory_order_acquire) == wanted ? std::optional(words)
                                                               : std::nullopt;
}

Kind kind_of(const Words& record) { return static_cast<Kind>(record[0] & 0xff); }

Descriptor collective(std::uint64_t sequence, const char* function) {
  Descriptor descriptor = of_type(plugin::event::kCollective, nullptr);
  descriptor.collective = {.sequence = sequence,
                           .function = function,
                           .from = nullptr,
                           .to = nullptr,
                           .count = 1'000,
                           .root = 0,
                           .datatype = "ncclBfloat16",
                           .channels = 2,
                           .warps = 16,
                           .algorithm = "RING",
                           .protocol = "SIMPLE",
                           .group = nullptr,
                           .variant = nullptr,
                           .is_symmetric = false,
                           .tag = 0};
  return descriptor;
}

Descriptor message(const char* function, int peer) {
  Descriptor descriptor = of_type(plugin::event::kMessage, nullptr);
  descriptor.message = {.function = function,
                        .buffer = nullptr,
                        .datatype = "ncclFloat32",
                        .count = 10,
                        .peer = peer,
                        .channels = 1,
                        .group = nullptr,
                        .tag = 0};
  return descriptor;
}

Descriptor proxy(void* parent, int channel, bool sends) {
  Descriptor descriptor = of_type(plugin::event::kProxy, parent);
  static const int process = getpid();
  descriptor.proxy = {.process = process,
                      .channel = static_cast<std::uint8_t>(channel),
                      .peer = 0,
                      .steps = 4,
                      .chunk_bytes = 1'000,
                      .is_send = sends ? 1 : 0};
  return descriptor;
}

Descriptor step(void* parent) { return of_type(plugin::event::kStep, parent); }

Descriptor kernel(void* parent, std::uint64_t timer) {
  Descriptor descriptor = of_type(plugin::event::kKernel, parent);
  descriptor.kernel = {.channel = 1, .timer = timer};
  return descriptor;
}

Descriptor other(std::uint64_t type, void* parent) { return of_type(type, parent); }

}  // namespace chokepoint::capture::nccl::test
