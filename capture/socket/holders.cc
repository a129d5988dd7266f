#include "capture/socket/holders.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>

namespace chokepoint::capture::socket {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

// "socket:[4711]"
std::optional<std::uint32_t> inode_of(std::string_view link) {
  constexpr std::string_view kPrefix = "socket:[";
  std::uint32_t inode = 0;
  if (!link.starts_with(kPrefix)) {
    return std::nullopt;
  }
  link.remove_prefix(kPrefix.size());
  const auto [end, error] = std::from_chars(link.data(), link.data() + link.size(), inode);
  return error == std::errc() && end != link.data() + link.size() && *end == ']'
             ? std::optional(inode)
             : std::nullopt;
}

bool is_better(const job::JobProcess& one, const job::JobProcess& other) {
  return one.rank.rank.has_value() != other.rank.rank.has_value()
             ? one.rank.rank.has_value()
             : one.start_ticks < other.start_ticks;
}

}  // namespace

void Holders::read(const job::JobProcesses& processes) {
  processes_ = processes;
  by_inode_.clear();
  hidden_ = 0;
  for (std::size_t index = 0; index < processes_.size(); ++index) {
    read(processes_[index], index);
  }
}

const job::JobProcess* Holders::holder_of(std::uint32_t inode) const {
  const auto known = by_inode_.find(inode);
  return known == by_inode_.end() ? nullptr : &processes_[known->second];
}

void Holders::read(const job::JobProcess& process, std::size_t index) {
  const Folder folder(opendir(root_.at(fmt::format("/proc/{}/fd", process.pid)).c_str()));
  if (!folder) {
    hidden_ += errno == EACCES || errno == EPERM ? 1 : 0;
    return;
  }
  std::array<char, 32> link{};  // longer ones are of no socket
  while (const dirent* file = readdir(folder.get())) {
    const ssize_t length = readlinkat(dirfd(folder.get()), file->d_name, link.data(), link.size());
    const auto inode = inode_of({link.data(), length > 0 ? static_cast<std::size_t>(length) : 0});
    if (inode) {
      const auto [known, is_new] = by_inode_.try_emplace(*inode, index);
      known->second =
          !is_new && is_better(process, processes_[known->second]) ? index : known->second;
    }
  }
}

}  // namespace chokepoint::capture::socket
