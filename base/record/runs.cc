#include "base/record/runs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/record/reader.h"
#include "base/record/writer_lock.h"
#include "base/sys/regular_file.h"

namespace chokepoint::record {
namespace {

namespace fs = std::filesystem;

// Nodes of one job start and end within this of each other: launchers start them one by one.
constexpr std::int64_t kMaxStartDifferenceNs = 60'000'000'000;
// The owner (overflowuid, user_namespaces(7)) of a file whose user is not in this user namespace.
constexpr uid_t kUnknownUser = 65534;
constexpr std::size_t kMaxRuns = 10'000;
constexpr int kMaxFree = 10'000;
// Records hold command lines and addresses: they are their owner's and the group's.
constexpr mode_t kFolderMode = 0750;

fs::path numbered(const fs::path& folder, int number) {
  return fmt::format("{}-{}", folder.string(), number);
}

// 0, or errno.
int make_one(const fs::path& folder) {
  return ::mkdir(folder.c_str(), kFolderMode) == 0 ? 0 : errno;
}

// A folder that is there keeps its mode.
int make_with_parents(const fs::path& folder) {
  std::error_code error;
  if (folder.empty() || fs::is_directory(folder, error)) {
    return 0;
  }
  if (const fs::path above = folder.parent_path(); above != folder) {
    if (const int failed = make_with_parents(above); failed != 0) {
      return failed;
    }
  }
  const int failed = make_one(folder);
  return failed == EEXIST ? 0 : failed;  // another node may make it at the same time
}

std::unexpected<Error> not_made(int error, const fs::path& folder) {
  Error failed = from_errno(error, "record", folder.string());
  failed.next_step = "give a folder that can be made and written to";
  return fail(std::move(failed));
}

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Probes and preflight write into records, too; they watch nothing.
bool has_job(const fs::path& record) {
  const Result<Reader> reader = Reader::open(record);
  return reader && std::ranges::any_of(reader->sessions(), [](const Session& session) {
           return !session.command.empty();
         });
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end;
       !error && entry != end && found.size() < kMaxRuns; entry.increment(error)) {
    std::error_code failed;
    if (entry->is_directory(failed)) {
      found.push_back(entry->path());
    }
  }
  return found;
}

bool add_run(const fs::path& folder, std::vector<RunFolder>& runs) {
  auto records = record_files(folder);
  if (!records || records->empty()) {
    return false;
  }
  RunFolder run{.path = folder, .records = *std::move(records)};
  for (const fs::path& record : run.records) {
    run.changed_wall_ns = std::max(run.changed_wall_ns, written_ns(record));
  }
  runs.push_back(std::move(run));
  return true;
}

}  // namespace

Result<std::vector<fs::path>> record_files(const fs::path& folder) {
  std::error_code error;
  if (fs::is_regular_file(folder, error)) {
    return std::vector{folder};
  }
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".db") {
      files.push_back(entry->path());
    }
  }
  if (error) {
    Error failed = from_errno(error.value(), "record", folder.string());
    failed.next_step = "give the folder that --out named; 'chokepoint runs' lists those here";
    return fail(std::move(failed));
  }
  std::ranges::sort(files);
  return files;
}

bool is_being_written(const fs::path& record) {
  const auto file = sys::open_regular("record", record.string() + "-lock", O_RDONLY);
  if (!file) {
    return false;  // a writer removes it when it ends
  }
  if (flock(file->get(), LOCK_SH | LOCK_NB) == 0) {
    return false;
  }
  return errno == EWOULDBLOCK || now_ns() - written_ns(record) < kSilentWriterNs;
}

std::string why_without_end(const fs::path& record) {
  if (is_being_written(record)) {
    return "it goes on";
  }
  const fs::path log = record.string() + "-wal";
  std::error_code missing;
  // A reader of a record without a log leaves an empty one.
  if (const std::uintmax_t bytes = fs::file_size(log, missing); !missing && bytes > 0) {
    return "it goes on, or was killed";
  }
  return fmt::format(
      "its log {} is not here (it was copied without it, or collected while the job ran); "
      "'chokepoint collect HOST:DIR' brings the rest",
      log.filename().string());
}

bool holds_earlier_run(const fs::path& folder, const std::string& node) {
  const auto records = record_files(folder);
  if (!records || std::ranges::any_of(*records, is_being_written)) {
    return false;
  }
  return std::ranges::any_of(*records, [&](const fs::path& record) {
    const bool is_own = record.stem() == node;
    return (is_own || now_ns() - written_ns(record) > kMaxStartDifferenceNs) && has_job(record);
  });
}

fs::path next_free(const fs::path& folder, const std::string& node) {
  for (int number = 2; number < kMaxFree; ++number) {
    fs::path candidate = numbered(folder, number);
    std::error_code failed;
    if (!fs::exists(candidate, failed) || !holds_earlier_run(candidate, node)) {
      return candidate;
    }
  }
  return fmt::format("{}-{}", folder.string(), now_ns());
}

Result<> make_folder(const fs::path& folder) {
  const int error = make_with_parents(folder);
  std::error_code unknown;
  if (fs::exists(folder, unknown) && !fs::is_directory(folder, unknown)) {
    return fail(ErrorKind::Usage, "record", folder.string(), "is a file, not a folder",
                "give a folder");
  }
  return error == 0 ? Result<>() : not_made(error, folder);
}

Result<fs::path> make_new_folder(const fs::path& folder) {
  TRY(make_folder(folder.parent_path()));
  int error = make_one(folder);
  fs::path made = folder;
  for (int number = 2; error == EEXIST && number < kMaxFree; ++number) {
    made = numbered(folder, number);
    error = make_one(made);
  }
  return error == 0 ? Result<fs::path>(std::move(made)) : not_made(error, made);
}

std::optional<uid_t> other_owner(const fs::path& folder) {
  std::error_code failed;
  const fs::path whole = fs::absolute(folder, failed);
  for (const fs::path& path : {whole, fs::canonical(whole, failed)}) {
    fs::path above;
    for (const fs::path& part : path) {
      above /= part;
      struct stat found{};
      if (lstat(above.c_str(), &found) == 0 && found.st_uid != 0 && found.st_uid != kUnknownUser) {
        return found.st_uid;
      }
    }
  }
  return std::nullopt;
}

std::vector<RunFolder> runs_below(const fs::path& folder) {
  std::vector<RunFolder> runs;
  for (const fs::path& each : folders_in(folder)) {
    if (!add_run(each, runs)) {
      for (const fs::path& repetition : folders_in(each)) {
        add_run(repetition, runs);
      }
    }
  }
  std::ranges::stable_sort(runs, [](const RunFolder& left, const RunFolder& right) {
    return left.changed_wall_ns > right.changed_wall_ns;
  });
  return runs;
}

}  // namespace chokepoint::record
