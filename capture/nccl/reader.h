// Reads what NCCL's profiler plugin leaves in a folder: looks for the files of new processes,
// follows each to the end of the run, and gives every collective and message as a row of the record
// once it is over. Whatever lies there may be anybody's: links, devices and files of other sizes
// are not opened or not believed. Bounded files, bounded memory. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "capture/nccl/assembly.h"
#include "capture/nccl/ring_file.h"
#include "capture/nccl/rows.h"

namespace chokepoint::capture::nccl {

// Totals of all processes so far.
struct Figures {
  std::uint64_t processes = 0;
  std::uint64_t operations = 0;
  std::uint64_t overwritten = 0;  // records, before they were read
  std::uint64_t unkept = 0;       // by the plugin: no ring, table or memory was free
  std::uint64_t orphans = 0;      // parts of what is not known, or was given away before
  std::optional<std::uint64_t> foreign_version = {};  // of a plugin of another build
};

class Reader {
 public:
  using See = std::function<void(const record::Collective& row)>;
  // The job's rank of a process, where it is known.
  using RankOf = std::function<std::optional<std::int64_t>(std::uint64_t process)>;

  Reader(std::filesystem::path folder, See see, RankOf rank_of);
  ~Reader();

  void tick(std::int64_t now_ns);
  // The job is over: what is still open is given, too.
  void finish(std::int64_t now_ns);
  Figures figures() const;

 private:
  struct Process;
  using Identity = std::pair<std::uint64_t, std::uint64_t>;  // device, inode

  void look_for_files();
  void open(const std::filesystem::path& path);
  void read(Process& process, std::int64_t now_ns);
  void take_leave(std::int64_t now_ns);

  std::filesystem::path folder_;
  See see_;
  RankOf rank_of_;
  std::map<Identity, std::unique_ptr<Process>> processes_;
  std::set<Identity> left_ = {};  // that could not be taken away
  Figures past_ = {};             // of those that ended
  std::int64_t looked_ns_ = 0;
};

}  // namespace chokepoint::capture::nccl
