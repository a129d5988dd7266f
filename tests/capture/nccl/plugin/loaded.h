// The plugin as NCCL has it: opened at run time, spoken to by its tables. Each object opens a copy
// of its own, so that a test meets it as a new process would. What it left is read as chokepoint
// would read it: from the file, whole records only.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "capture/nccl/plugin/interface.h"
#include "capture/nccl/ring/layout.h"

namespace chokepoint::capture::nccl::test {

using plugin::Descriptor;
using plugin::State;
using plugin::StateArguments;

using Words = std::array<std::uint64_t, kWords>;

struct Settings {
  bool has_folder = true;
  std::optional<std::filesystem::path> folder = {};  // instead of its own
  std::string window = "all";
  std::optional<std::string> next = "none";
  std::optional<std::string> events = {};
};

class Loaded {
 public:
  explicit Loaded(const Settings& settings = {});
  ~Loaded();
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  const plugin::Table4& four() const { return *four_; }
  const plugin::Table5& five() const { return *five_; }
  const plugin::Table5& six() const { return *six_; }
  const plugin::Table5& seven() const { return *seven_; }

  // A communicator of two ranks; this is rank 1.
  void* join(std::uint64_t id = 7);
  void* start(void* context, Descriptor descriptor) const;
  void stop(void* handle) const { five_->stop(handle); }
  void state(void* handle, State state, std::uint64_t value = 0) const;
  void leave(void* context) const { five_->finalize(context); }

  int& mask() { return mask_; }
  const std::filesystem::path& folder() const { return folder_; }
  std::optional<std::filesystem::path> path() const;

  // Null where there is no file.
  const File* file();
  std::vector<Words> records();
  std::vector<Words> records(Kind kind);

 private:
  bool is_hole(const Ring& ring) const;

  std::filesystem::path own_folder_;
  std::filesystem::path folder_;
  void* library_ = nullptr;
  const plugin::Table4* four_ = nullptr;
  const plugin::Table5* five_ = nullptr;
  const plugin::Table5* six_ = nullptr;
  const plugin::Table5* seven_ = nullptr;
  int mask_ = 0;
  const File* file_ = nullptr;
  int descriptor_ = -1;
};

// Whole, or nothing: what is being written, or was written over meanwhile.
std::optional<Words> read(const Ring& ring, std::uint64_t number);
Kind kind_of(const Words& record);

Descriptor collective(std::uint64_t sequence, const char* function = "AllReduce");
Descriptor message(const char* function, int peer);
Descriptor proxy(void* parent, int channel, bool sends);
Descriptor step(void* parent);
Descriptor kernel(void* parent, std::uint64_t timer);
Descriptor other(std::uint64_t type, void* parent = nullptr);

}  // namespace chokepoint::capture::nccl::test
