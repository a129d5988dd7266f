// Reads what NCCL's profiler plugin writes into a folder: finds the files of new processes,
// follows each to the end of the run, and passes every collective and message on as a row of the
// record once it is over. The files are not trusted: links, devices and files of another size are
// not read. Files and memory are bounded. One thread.
//
//   RingFile ── Entry ──▶ Assembly ── Operation ──▶ Rows ── record::Collective ──▶ the caller
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/record/samples.h"

namespace chokepoint::capture::nccl {

// Totals of all processes so far.
struct Figures {
  std::uint64_t processes = 0;
  std::uint64_t operations = 0;
  std::uint64_t overwritten = 0;  // records that were lost before they were read
  std::uint64_t unkept = 0;       // records that the plugin had no ring, table or memory for
  std::uint64_t orphans = 0;      // see Assembly
  std::optional<std::uint64_t> foreign_version = {};  // of a plugin of another build
  std::set<std::uint64_t> choices = {};               // different ones, Choice::word()
};

class Reader {
 public:
  using OnCollective = std::function<void(const record::Collective& row)>;
  // Who writes a file: `process` is its pid as it sees itself, which means something in its PID
  // namespace alone.
  struct Owner {
    std::uint64_t pid = 0;
    std::optional<std::int64_t> rank = {};  // the job's
  };
  using OwnerOf = std::function<std::optional<Owner>(std::uint64_t process, std::uint64_t inode)>;

  // A call to which the program gave a tag.
  using OnTag = std::function<void(std::optional<std::int64_t> rank, std::uint64_t tag,
                                   std::int64_t enqueued_ns)>;

  Reader(std::filesystem::path folder, OnCollective on_collective, OwnerOf owner_of,
         OnTag on_tag = {});
  ~Reader();

  void tick(std::int64_t now_ns);
  // The job is over: what is still open is passed on, too.
  void finish(std::int64_t now_ns);
  Figures figures() const;

  // Of each process that is known the newest collective of each kind and communicator, over or not.
  using OnEnqueued =
      std::function<void(std::uint64_t pid, std::span<const record::Collective> newest)>;
  void report_enqueued(const OnEnqueued& on_collective) const;

 private:
  struct Process;
  using Identity = std::pair<std::uint64_t, std::uint64_t>;  // device, inode

  void find_files();
  void open(const std::filesystem::path& path);
  void read(std::uint64_t inode, Process& process, std::int64_t now_ns);
  void forget_ended(std::int64_t now_ns);

  std::filesystem::path folder_;
  OnCollective on_collective_;
  OwnerOf owner_of_;
  OnTag on_tag_;
  std::map<Identity, std::unique_ptr<Process>> processes_;
  std::set<Identity> left_ = {};  // files that could not be removed
  Figures past_ = {};             // of those that ended
  std::int64_t listed_ns_ = 0;
};

}  // namespace chokepoint::capture::nccl
