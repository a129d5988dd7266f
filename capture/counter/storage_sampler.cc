// What the storage below a job did: disks, mounts of NFS, and how much that was read had been in
// the page cache shortly before. Of the whole host, as the kernel counts it; the job's part is
// counted by process.
//
//   /proc/diskstats         bytes each way, time at work
//   /proc/PID/mountstats    NFS: bytes each way, requests, those sent again, their round trips
//   /proc/vmstat            pages read again that had been dropped (refaults)
//   /proc/PID/io            what the job's processes had read from storage and written there
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/host/mounts.h"
#include "base/record/names.h"
#include "base/sys/root.h"
#include "capture/counter/kernel_file.h"
#include "capture/counter/sampler.h"

namespace chokepoint::capture::counter {
namespace {

constexpr std::size_t kMaxDisks = 64;
constexpr std::size_t kMaxDiskNames = 512;  // with partitions
constexpr std::size_t kMaxRemoteMounts = 16;
constexpr std::size_t kMaxProcesses = 256;
constexpr std::uint64_t kSectorBytes = 512;  // whatever the disk's own are
constexpr std::uint64_t kMs = 1'000'000;

class Disks {
 public:
  explicit Disks(const sys::Root& root) : root_(root), file_(root, "/proc/diskstats") {}

  // "259 0 nvme0n1 reads merged sectors ms writes merged sectors ms now busy_ms …"
  void sample(std::int64_t now_ns, Sink& sink) {
    const Result<std::string_view> text = file_.read(buffer_);
    Words lines = lines_of(text ? *text : std::string_view());
    for (std::string_view line = lines.next(); !line.empty(); line = lines.next()) {
      Words words(line);
      words.skip(2);
      const std::string_view name = words.next();
      if (!is_disk(name)) {
        continue;
      }
      words.skip(2);
      const auto read = number_in(words.next());
      words.skip(3);
      const auto written = number_in(words.next());
      words.skip(2);
      const auto busy_ms = number_in(words.next());
      if (read && written && busy_ms) {
        const auto see = [&](std::string_view series, std::uint64_t value) {
          sink.counter({std::string(series), std::string(name), file_.path()}).see(now_ns, value);
        };
        see(record::kDiskReadBytes, *read * kSectorBytes);
        see(record::kDiskWrittenBytes, *written * kSectorBytes);
        see(record::kDiskBusy, *busy_ms * kMs);
      }
    }
  }

 private:
  // Not a partition.
  bool is_disk(std::string_view name) {
    const auto known = disks_.find(name);
    if (known != disks_.end()) {
      return known->second;
    }
    if (name.empty() || disks_.size() >= kMaxDiskNames) {
      return false;
    }
    const bool is_one =
        std::ranges::count(disks_, true, [](const auto& each) { return each.second; }) <
            static_cast<std::ptrdiff_t>(kMaxDisks) &&
        root_.exists(fmt::format("/sys/block/{}", name));
    disks_.emplace(name, is_one);
    return is_one;
  }

  sys::Root root_;
  KernelFile file_;
  std::map<std::string, bool, std::less<>> disks_;
  std::string buffer_;
};

// One mount of NFS in mountstats.
struct RemoteMount {
  std::string point = {};
  std::uint64_t read_bytes = 0;  // from the server, and to it
  std::uint64_t written_bytes = 0;
  std::uint64_t requests = 0;
  std::uint64_t resent = 0;
  std::uint64_t round_trips_ns = 0;  // all of them together
};

// "device SERVER:/export mounted on POINT with fstype nfs4 statvers=1.1": the point, of NFS only.
std::optional<std::string> remote_point_in(std::string_view line) {
  constexpr std::string_view kMounted = " mounted on ";
  constexpr std::string_view kType = " with fstype nfs";
  const std::size_t point = line.find(kMounted);
  const std::size_t type = line.find(kType);
  if (!line.starts_with("device ") || point == std::string_view::npos ||
      type == std::string_view::npos || type < point) {
    return std::nullopt;
  }
  const std::size_t begin = point + kMounted.size();
  return host::unescaped(line.substr(begin, type - begin));
}

// "bytes:\t" normal read, written; direct read, written; from the server, to it; pages.
void take_bytes(Words words, RemoteMount& mount) {
  words.skip(4);
  mount.read_bytes = number_in(words.next()).value_or(0);
  mount.written_bytes = number_in(words.next()).value_or(0);
}

// "READ: requests transmissions timeouts sent received queue_ms rtt_ms execute_ms …"
void take_operation(Words words, RemoteMount& mount) {
  const std::uint64_t requests = number_in(words.next()).value_or(0);
  const std::uint64_t sent = number_in(words.next()).value_or(0);
  words.skip(4);
  mount.requests += requests;
  mount.resent += sent - std::min(sent, requests);
  mount.round_trips_ns += number_in(words.next()).value_or(0) * kMs;
}

template <class OnFound>
void each_remote_mount(std::string_view text, const OnFound& see) {
  std::optional<RemoteMount> mount;
  bool is_of_operations = false;
  std::size_t count = 0;
  Words lines = lines_of(text);
  for (std::string_view line = lines.next(); !line.empty(); line = lines.next()) {
    if (line.starts_with("device ")) {
      if (mount && count++ < kMaxRemoteMounts) {
        see(*mount);
      }
      const auto point = remote_point_in(line);
      mount = point ? std::optional(RemoteMount{.point = *point}) : std::nullopt;
      is_of_operations = false;
    } else if (mount) {
      Words words(line);
      const std::string_view name = words.next();
      if (name == "bytes:") {
        take_bytes(words, *mount);
      } else if (name == "per-op") {
        is_of_operations = true;
      } else if (is_of_operations && name.ends_with(':')) {
        take_operation(words, *mount);
      }
    }
  }
  if (mount && count < kMaxRemoteMounts) {
    see(*mount);
  }
}

class StorageSampler final : public Sampler {
 public:
  explicit StorageSampler(const sys::Root& root)
      : root_(root),
        disks_(root),
        memory_(root, "/proc/vmstat"),
        page_bytes_(static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))) {}

  void sample(const Moment& moment, Sink& sink) override {
    disks_.sample(moment.now_ns, sink);
    sample_memory(moment.now_ns, sink);
    sample_remote(moment, sink);
    sample_job(moment, sink);
  }

 private:
  // Before Linux 5.9 the counter had no "_file".
  void sample_memory(std::int64_t now_ns, Sink& sink) {
    const Result<std::string_view> text = memory_.read(buffer_);
    Words lines = lines_of(text ? *text : std::string_view());
    for (std::string_view line = lines.next(); !line.empty(); line = lines.next()) {
      Words words(line);
      const std::string_view name = words.next();
      const auto pages = number_in(words.next());
      if (pages && (name == "workingset_refault_file" || name == "workingset_refault")) {
        sink.counter({std::string(record::kRefaults), "", memory_.path()})
            .see(now_ns, *pages * page_bytes_);
        return;
      }
    }
  }

  // Of the job's first process: a container has its own mounts.
  void sample_remote(const Moment& moment, Sink& sink) {
    if (moment.processes.empty()) {
      return;
    }
    if (moment.now_ns >= find_ns_) {
      find_ns_ = moment.now_ns + kFindAgainNs;
      const std::string place = host::mounts_folder_of(root_, moment.processes.front().pid);
      const std::string mounts = root_.text(place + "/mountinfo").value_or("");
      has_remote_ = std::ranges::any_of(host::mounts_in(mounts), [](const host::Mount& mount) {
        return mount.type.starts_with("nfs");
      });
      source_ = place + "/mountstats";
    }
    if (!has_remote_) {
      return;
    }
    const std::string text = root_.text(source_).value_or("");
    each_remote_mount(text, [&](const RemoteMount& mount) {
      const auto see = [&](std::string_view series, std::uint64_t value) {
        sink.counter({std::string(series), mount.point, "/proc/PID/mountstats"})
            .see(moment.now_ns, value);
      };
      see(record::kNfsReadBytes, mount.read_bytes);
      see(record::kNfsWrittenBytes, mount.written_bytes);
      see(record::kNfsRequests, mount.requests);
      see(record::kNfsResent, mount.resent);
      see(record::kNfsRoundTrips, mount.round_trips_ns);
    });
  }

  // /proc/PID/io of another user's process is readable by root alone.
  void sample_job(const Moment& moment, Sink& sink) {
    std::map<pid_t, Moved> now;
    for (std::size_t i = 0; i < std::min(moment.processes.size(), kMaxProcesses); ++i) {
      const job::JobProcess& process = moment.processes[i];
      const auto moved = moved_by(process.pid);
      if (!moved) {
        continue;
      }
      const auto known = moved_.find(process.pid);
      const bool is_same =
          known != moved_.end() && known->second.start_ticks == process.start_ticks;
      const Moved before = is_same ? known->second : Moved{};
      read_ += moved->read - std::min(before.read, moved->read);
      written_ += moved->written - std::min(before.written, moved->written);
      now[process.pid] = {process.start_ticks, moved->read, moved->written};
    }
    moved_ = std::move(now);
    const auto see = [&](std::string_view series, std::uint64_t value) {
      sink.counter({std::string(series), "", "/proc/PID/io"}).see(moment.now_ns, value);
    };
    see(record::kJobReadBytes, read_);
    see(record::kJobWrittenBytes, written_);
  }

  struct Moved {
    std::uint64_t start_ticks = 0;
    std::uint64_t read = 0;
    std::uint64_t written = 0;
  };

  std::optional<Moved> moved_by(pid_t pid) const {
    const auto text = root_.text(fmt::format("/proc/{}/io", pid));
    if (!text) {
      return std::nullopt;
    }
    Moved moved;
    Words lines = lines_of(*text);
    for (std::string_view line = lines.next(); !line.empty(); line = lines.next()) {
      Words words(line);
      const std::string_view name = words.next();
      if (name == "read_bytes:") {
        moved.read = number_in(words.next()).value_or(0);
      } else if (name == "write_bytes:") {
        moved.written = number_in(words.next()).value_or(0);
      }
    }
    return moved;
  }

  sys::Root root_;
  Disks disks_;
  KernelFile memory_;
  std::uint64_t page_bytes_;
  std::string buffer_;
  std::int64_t find_ns_ = 0;
  bool has_remote_ = false;
  std::string source_;
  std::map<pid_t, Moved> moved_;
  std::uint64_t read_ = 0;  // by all processes of the job so far
  std::uint64_t written_ = 0;
};

}  // namespace

OwnedSampler storage_sampler(const sys::Root& root) {
  return std::make_unique<StorageSampler>(root);
}

}  // namespace chokepoint::capture::counter
