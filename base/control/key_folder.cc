#include "base/control/key_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>

namespace chokepoint::control {
namespace {

constexpr std::int64_t kLookEveryNs = 1'000'000'000;

std::string sight_of(const std::filesystem::path& path) {
  struct stat about{};
  if (stat(path.c_str(), &about) < 0) {
    return {};
  }
  return fmt::format("{} {} {} {} {}.{} {}.{}\n", path.filename().string(), about.st_ino,
                     about.st_mode, about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec,
                     about.st_ctim.tv_sec, about.st_ctim.tv_nsec);
}

}  // namespace

KeyFolder::KeyFolder(std::string folder) : folder_(std::move(folder)), seen_(glance()) {}

std::optional<Result<KeyRing>> KeyFolder::news(std::int64_t now_ns) {
  if (now_ns - looked_ns_ < kLookEveryNs) {
    return std::nullopt;
  }
  looked_ns_ = now_ns;
  std::string now = glance();
  if (now == seen_) {
    return std::nullopt;
  }
  seen_ = std::move(now);
  Result<HostKeys> keys = keys_of_hosts(folder_);
  return keys ? Result<KeyRing>(KeyRing(*std::move(keys))) : std::unexpected(keys.error());
}

std::string KeyFolder::glance() const {
  std::set<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder_, error), end; !error && at != end;
       at.increment(error)) {
    files.insert(sight_of(at->path()));
  }
  std::string all = error ? "" : sight_of(folder_);
  for (const std::string& file : files) {
    all += file;
  }
  return all;
}

}  // namespace chokepoint::control
