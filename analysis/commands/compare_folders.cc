#include "analysis/commands/compare_folders.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "analysis/compare/order.h"

namespace chokepoint::analysis {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 8;

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    entries.push_back(entry->path());
  }
  std::ranges::sort(entries, [](const fs::path& one, const fs::path& other) {
    return natural_order(one.native(), other.native()) < 0;
  });
  return entries;
}

// Links are not followed: a folder may hold one to itself.
bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(path, error));
}

void find_runs(const fs::path& folder, int depth, std::vector<std::string>& found) {
  const std::vector<fs::path> entries = entries_of(folder);
  const bool is_run = std::ranges::any_of(
      entries, [](const fs::path& entry) { return entry.extension() == ".db"; });
  if (is_run) {
    found.push_back(folder.string());
    return;
  }
  for (const fs::path& entry : entries) {
    if (depth < kDeepest && is_folder(entry)) {
      find_runs(entry, depth + 1, found);
    }
  }
}

std::string identity_of(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::canonical(path, error);
  return error ? path : whole.string();
}

}  // namespace

std::string plain_name(const std::string& folder) {
  const fs::path path = fs::path(folder).lexically_normal();
  return path.has_filename() ? path.string() : path.parent_path().string();
}

std::vector<RunFolder> run_folders(const std::vector<std::string>& arguments) {
  std::vector<RunFolder> runs;
  std::set<std::string> known;
  for (const std::string& argument : arguments) {
    const std::string name = plain_name(argument);
    std::vector<std::string> found;
    find_runs(name, 0, found);
    if (found.empty()) {
      found.push_back(name);
    }
    for (std::string& path : found) {
      if (known.insert(identity_of(path)).second) {
        runs.push_back({.path = std::move(path), .folder = name});
      }
    }
  }
  return runs;
}

}  // namespace chokepoint::analysis
