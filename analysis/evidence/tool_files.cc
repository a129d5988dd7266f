#include "analysis/evidence/tool_files.h"

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "base/sys/parallel.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kMaxThreads = 8;
// Of the files that are read at the same time; a larger one is read alone.
constexpr std::uintmax_t kMaxBytesAtOnce = std::uintmax_t{128} << 20;

// Memory for the files that are being read. Any thread.
class Room {
 public:
  void take(std::uintmax_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return taken_ == 0 || taken_ + bytes <= kMaxBytesAtOnce; });
    taken_ += bytes;
  }
  void give(std::uintmax_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      taken_ -= bytes;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uintmax_t taken_ = 0;
};

std::uintmax_t size_of(const std::string& path) {
  std::error_code failed;
  const std::uintmax_t size = std::filesystem::file_size(path, failed);
  return failed ? 0 : std::min(size, kMaxBytesAtOnce);
}

std::optional<std::int64_t> rank_of(const ToolFile& file) {
  const bool is_dump = file.tool == Tool::FlightRecorder && !file.ranks.empty();
  return is_dump ? file.ranks.front().rank : std::nullopt;
}

constexpr std::int64_t kMinBetweenIncidentsNs = 60'000'000'000;

bool has_rank_at_two_times(const std::vector<const ToolFile*>& dumps) {
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> times;  // first and last
  for (const ToolFile* dump : dumps) {
    const std::int64_t at = dump->span.end_ns;
    auto& [first, last] = times.try_emplace(*rank_of(*dump), at, at).first->second;
    first = std::min(first, at);
    last = std::max(last, at);
  }
  return std::ranges::any_of(times, [](const auto& each) {
    return each.second.second - each.second.first > kMinBetweenIncidentsNs;
  });
}

}  // namespace

std::vector<Result<ToolFile>> read_tool_files(const std::vector<std::string>& paths) {
  std::vector<Result<ToolFile>> files(paths.size());
  Room room;
  sys::for_each_in_parallel(
      "read", paths.size(),
      [&](std::size_t at) {
        const std::uintmax_t bytes = size_of(paths[at]);
        room.take(bytes);
        files[at] = read_tool_file(paths[at]);
        room.give(bytes);
      },
      kMaxThreads);
  return files;
}

void keep_newest_incident(std::vector<ToolFile>& files, std::vector<Error>& troubles) {
  std::vector<const ToolFile*> dumps;
  for (const ToolFile& file : files) {
    if (rank_of(file) && file.span.is_known()) {
      dumps.push_back(&file);
    }
  }
  if (!has_rank_at_two_times(dumps)) {
    return;
  }
  std::ranges::sort(dumps, std::greater<>(),
                    [](const ToolFile* dump) { return dump->span.end_ns; });
  std::size_t kept = 1;
  while (kept < dumps.size() &&
         dumps[kept - 1]->span.end_ns - dumps[kept]->span.end_ns <= kMinBetweenIncidentsNs) {
    ++kept;
  }
  const std::set<const ToolFile*> newest(dumps.begin(),
                                         dumps.begin() + static_cast<std::ptrdiff_t>(kept));
  std::set<std::int64_t> ranks;
  for (const ToolFile* dump : newest) {
    ranks.insert(*rank_of(*dump));
  }
  std::vector<ToolFile> left;
  for (ToolFile& file : files) {
    const auto rank = rank_of(file);
    // A dump without any entry has no time: its rank may have been idle.
    const bool fits =
        !rank || newest.contains(&file) || (!file.span.is_known() && ranks.insert(*rank).second);
    if (fits) {
      left.push_back(std::move(file));
    } else {
      troubles.push_back({.kind = ErrorKind::NotFound,
                          .operation = "",
                          .subject = file.file,
                          .reason = "is of an earlier incident than the newest dumps"});
    }
  }
  files = std::move(left);
}

}  // namespace chokepoint::analysis
