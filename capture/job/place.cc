#include "capture/job/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/record/runs.h"
#include "base/record/schema.h"
#include "base/sys/clock.h"

namespace chokepoint::capture::job {
namespace {

namespace fs = std::filesystem;

// How far apart nodes of a job may be started by hand.
constexpr std::int64_t kStartsApartNs = 600'000'000'000;
constexpr std::size_t kSeconds = 15;  // letters of 20261126T100321
constexpr std::size_t kMinutes = 13;

// 2026-11-26T10:03:21.123Z as 20261126T100321: some tools take ':' for the end of a host's name.
std::string time_name(std::int64_t wall_ns, std::size_t letters) {
  std::string name = sys::rfc3339(wall_ns);
  std::erase_if(name, [](char c) { return c == '-' || c == ':'; });
  return name.substr(0, letters);
}

// Such a folder that was begun a short while ago, by this clock or one that is a minute off.
std::string begun_by_another(const fs::path& base, const std::string& job, const std::string& node,
                             std::int64_t wall_ns) {
  constexpr std::int64_t kClocksApartNs = 60'000'000'000;
  const std::string first =
      fmt::format("{}-{}", job, time_name(wall_ns - kStartsApartNs, kMinutes));
  const std::string last = fmt::format("{}-{}", job, time_name(wall_ns + kClocksApartNs, kMinutes));
  std::string newest;
  std::error_code error;
  for (fs::directory_iterator entry(base, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    // The number of a second run within that minute may follow.
    const std::string begun = name.substr(0, job.size() + 1 + kMinutes);
    if (begun >= first && begun <= last && name > newest &&
        !record::holds_earlier_run(entry->path(), node)) {
      newest = name;
    }
  }
  return newest;
}

std::string job_name(const PlaceOptions& options, const fs::path& base, const std::string& node,
                     std::int64_t wall_ns) {
  if (options.job.text.empty()) {
    return time_name(wall_ns, kSeconds);
  }
  if (options.job.is_unique) {
    return options.job.text;
  }
  const std::string begun = begun_by_another(base, options.job.text, node, wall_ns);
  return begun.empty() ? fmt::format("{}-{}", options.job.text, time_name(wall_ns, kMinutes))
                       : begun;
}

Result<fs::path> default_folder(const PlaceOptions& options, const std::string& node,
                                std::int64_t wall_ns) {
  const fs::path base = record::kRunsFolder;
  fs::path folder = base / job_name(options, base, node, wall_ns);
  // Jobs without a name have nothing in common, also if they start within one second.
  if (options.job.text.empty()) {
    return record::make_new_folder(folder);
  }
  return record::holds_earlier_run(folder, node) ? record::next_free(folder, node) : folder;
}

}  // namespace

Result<Place> choose_folder(const PlaceOptions& options, const std::string& node,
                            std::int64_t wall_ns) {
  const bool is_named = !options.folder.empty();
  const bool is_made = !is_named && options.job.text.empty();
  TRY(const fs::path run,
      is_named ? Result<fs::path>(options.folder) : default_folder(options, node, wall_ns));
  fs::path folder = options.repetition > 0 ? run / std::to_string(options.repetition) : run;
  if (is_named && !options.may_append && record::holds_earlier_run(folder, node)) {
    const std::array free{std::string("--out"),
                          record::next_free(run.lexically_normal(), node).string()};
    return fail(ErrorKind::Usage, "--out", folder.string(), "holds an earlier run",
                fmt::format("{}, or --append to add to it", record::shell_line(free)));
  }
  std::error_code failed;
  const bool is_new = !fs::exists(folder, failed) || (is_made && options.repetition == 0);
  return Place{.folder = std::move(folder), .is_new = is_new};
}

}  // namespace chokepoint::capture::job
