#include "base/record/writer_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <sstream>
#include <string>
#include <thread>

#include "base/sys/regular_file.h"

namespace chokepoint::record {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kLockMode = 0640;
constexpr std::size_t kMaxHolderBytes = 256;
// Longer than it takes from a look at the file to a rename.
constexpr std::chrono::milliseconds kSettle{200};

fs::path lock_of(const fs::path& record) { return record.string() + "-lock"; }

std::int64_t changed_at(const struct stat& status) {
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

std::int64_t changed_ns(const fs::path& path) {
  struct stat found{};
  return lstat(path.c_str(), &found) == 0 ? changed_at(found) : 0;
}

// The last holder may have removed the file between our open and our lock.
bool is_still_there(const fs::path& path, int fd) {
  struct stat named{};
  struct stat held{};
  return lstat(path.c_str(), &named) == 0 && fstat(fd, &held) == 0 && named.st_ino == held.st_ino &&
         named.st_dev == held.st_dev;
}

bool has_no_locks(int code) {
  return code == ENOLCK || code == EOPNOTSUPP || code == ENOSYS || code == EINVAL;
}

Error open_error(Error error, const fs::path& path) {
  if (error.code != 0) {
    error.subject = path.parent_path().string();
  }
  if (error.code == EROFS || error.code == EACCES || error.code == EPERM) {
    error.next_step = "give a folder that can be written to";
  }
  return error;
}

std::unexpected<Error> held_by_another(const fs::path& record) {
  return fail(ErrorKind::Busy, "record", record.string(), "another process is writing this record",
              "wait until it ends, or give another folder or --node");
}

// A process, so that no other one ever has the same. Empty fields are unknown.
struct Holder {
  std::string boot;
  std::string pids;  // the PID namespace
  std::string pid;
  std::string start;  // in ticks since the boot

  bool operator==(const Holder&) const = default;
};

// From /proc/PID/stat, after the command's name, which may hold any bytes.
std::string start_of(const sys::Root& root, const std::string& pid) {
  constexpr int kFieldsBefore = 19;
  const std::string stat = root.text("/proc/" + pid + "/stat").value_or("");
  const std::size_t end = stat.rfind(')');
  std::istringstream words(end == std::string::npos ? "" : stat.substr(end + 1));
  std::string word;
  for (int field = 0; field <= kFieldsBefore; ++field) {
    word.clear();
    words >> word;
  }
  return word;
}

Holder this_process(const sys::Root& root) {
  const std::string pid = std::to_string(getpid());
  return {.boot = root.text("/proc/sys/kernel/random/boot_id").value_or(""),
          .pids = root.link_target("/proc/self/ns/pid").value_or(""),
          .pid = pid,
          .start = start_of(root, pid)};
}

std::string holder_text(const Holder& holder) {
  return fmt::format("boot={}\npids={}\npid={}\nstart={}\n", holder.boot, holder.pids, holder.pid,
                     holder.start);
}

Holder holder_in(const std::string& text) {
  Holder holder;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto take = [&](std::string_view key, std::string& value) {
      if (line.starts_with(key)) {
        value = line.substr(key.size());
      }
    };
    take("boot=", holder.boot);
    take("pids=", holder.pids);
    take("pid=", holder.pid);
    take("start=", holder.start);
  }
  const bool is_number =
      std::ranges::all_of(holder.pid, [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? holder : Holder{};
}

Holder holder_of(const fs::path& path) {
  const Result<sys::Descriptor> file = sys::open_regular("lock", path, O_RDONLY);
  const Result<std::string> text =
      file ? sys::read_up_to(*file, kMaxHolderBytes, "lock", path) : fail(file.error());
  return text ? holder_in(*text) : Holder{};
}

// `now_ns` is the file server's clock.
bool is_writing(const Holder& holder, const Holder& self, const fs::path& record,
                std::int64_t now_ns, const sys::Root& root) {
  const bool is_known = !holder.start.empty() && holder.boot == self.boot &&
                        holder.pids == self.pids && !self.boot.empty() && !self.pids.empty();
  if (is_known) {
    return start_of(root, holder.pid) == holder.start;
  }
  return now_ns - std::max(written_ns(record), changed_ns(lock_of(record))) < kSilentWriterNs;
}

Result<> name_holder(const sys::Descriptor& file, const Holder& holder, const fs::path& path) {
  const std::string text = holder_text(holder);
  const bool is_written =
      write(file.get(), text.data(), text.size()) == std::ssize(text) && fsync(file.get()) == 0;
  return is_written ? Result<>() : fail(from_errno(errno, "lock", path.string()));
}

}  // namespace

std::int64_t written_ns(const fs::path& record) {
  return std::max(changed_ns(record), changed_ns(record.string() + "-wal"));
}

Result<WriterLock> WriterLock::take_by_name(const fs::path& record, sys::Descriptor file,
                                            bool is_made, const sys::Root& root) {
  const fs::path path = lock_of(record);
  const Holder self = this_process(root);
  if (is_made) {
    TRY(name_holder(file, self, path));
    return WriterLock(path, std::move(file), false);
  }
  const fs::path own_path = fmt::format("{}.{}", path.string(), self.pid);
  unlink(own_path.c_str());  // of an earlier process with this number
  TRY(sys::Descriptor own,
      sys::open_regular("lock", own_path, O_RDWR | O_CREAT | O_EXCL, kLockMode));
  Result<> named = name_holder(own, self, own_path);
  struct stat made{};
  const bool is_free = named && fstat(own.get(), &made) == 0 &&
                       !is_writing(holder_of(path), self, record, changed_at(made), root);
  if (!is_free || rename(own_path.c_str(), path.c_str()) != 0) {
    unlink(own_path.c_str());
    return named ? held_by_another(record) : fail(named.error());
  }
  std::this_thread::sleep_for(kSettle);
  // By opening it again: what a client of NFS knows of a name may be old.
  return holder_of(path) == self ? Result<WriterLock>(WriterLock(path, std::move(own), false))
                                 : held_by_another(record);
}

Result<WriterLock> WriterLock::take(const fs::path& record, const sys::Root& root, Lock lock) {
  const fs::path path = lock_of(record);
  while (true) {
    Result<sys::Descriptor> file =
        sys::open_regular("record", path, O_RDWR | O_CREAT | O_EXCL, kLockMode);
    const bool is_made = file.has_value();
    if (!file && file.error().code == EEXIST) {
      file = sys::open_regular("record", path, O_RDWR);
    }
    std::error_code unknown;
    if (!file && !is_made && file.error().code == ENOENT &&
        fs::exists(record.parent_path(), unknown)) {
      continue;  // its holder has removed it
    }
    if (!file) {
      return fail(open_error(file.error(), path));
    }
    if (lock(file->get(), LOCK_EX | LOCK_NB) == 0) {
      if (is_still_there(path, file->get())) {
        return WriterLock(path, std::move(*file), true);
      }
      continue;
    }
    if (has_no_locks(errno)) {
      return take_by_name(record, std::move(*file), is_made, root);
    }
    if (errno == EWOULDBLOCK) {
      return held_by_another(record);
    }
    if (errno != EINTR) {
      return fail(from_errno(errno, "lock", path.string()));
    }
  }
}

WriterLock::~WriterLock() {
  // Another writer may have taken the place of one that was stopped for long.
  if (file_ && (has_locks_ || is_still_there(path_, file_.get()))) {
    unlink(path_.c_str());
  }
}

}  // namespace chokepoint::record
