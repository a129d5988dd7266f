#include "capture/job/process.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/sys/number.h"

namespace chokepoint::capture::job {
namespace {

// By proc(5), which counts from 1; the first two are the pid and the name.
enum Field : std::size_t {
  kState = 3,
  kParent = 4,
  kGroup = 5,
  kStartTicks = 22,
  kStack = 28,
  kArguments = 48,
  kArgumentsEnd = 49,
  kEnvironment = 50,
  kEnvironmentEnd = 51,
  kWaitStatus = 52,
};

using Words = std::array<std::string_view, kWaitStatus + 1>;

// 0 for a field that this kernel does not have.
template <class T>
T number_of(std::string_view text) {
  return sys::parse_number<T>(text).value_or(0);
}

// How many there were, counted as proc(5) does.
std::size_t split(std::string_view text, Words& words) {
  std::size_t count = kState;
  while (!text.empty() && count < words.size()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    words[count++] = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return count - 1;
}

namespace fs = std::filesystem;

constexpr std::string_view kMount = "/sys/fs/cgroup";
constexpr std::string_view kProcesses = "/cgroup.procs";

bool is_cgroup(const sys::Root& root, const std::string& folder) {
  return root.exists(folder + std::string(kProcesses));
}

// Version 2 by itself, beside version 1, then version 1's controllers.
std::vector<std::string> hierarchies(const sys::Root& root) {
  const std::string mount(kMount);
  std::vector<std::string> folders{mount, mount + "/unified"};
  for (const std::string& name : root.list(kMount)) {
    if (name != "unified") {
      folders.push_back(mount + "/" + name);
    }
  }
  return folders;
}

std::string without_end_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  return path == "/" ? "" : path;
}

std::optional<std::string> first_cgroup(const sys::Root& root,
                                        const std::vector<std::string>& folders,
                                        const std::string& path) {
  for (const std::string& folder : folders) {
    if (is_cgroup(root, folder + path)) {
      return folder + path;
    }
  }
  return std::nullopt;
}

// "4:memory:/a/b": of that controller; "0::/a/b": of version 2.
std::optional<std::string> by_line(const sys::Root& root, const std::string& line) {
  const std::size_t first = line.find(':');
  const std::size_t second = line.find(':', first + 1);
  const std::string path = without_end_slash(line.substr(second + 1));
  std::string controller = line.substr(first + 1, second - first - 1);
  if (controller.starts_with("name=")) {
    controller.erase(0, 5);
  }
  const std::string mount(kMount);
  if (controller.empty()) {
    return first_cgroup(root, {mount, mount + "/unified"}, path);
  }
  return first_cgroup(root, {mount + "/" + controller}, path);
}

bool is_line(const std::string& name) {
  const std::size_t first = name.find(':');
  return first != std::string::npos && first > 0 && name.find_first_not_of("0123456789") == first &&
         name.find(':', first + 1) != std::string::npos;
}

// False where it is gone.
bool append_pids(const sys::Root& root, const std::string& folder, std::vector<pid_t>& pids) {
  const Result<std::string> text = root.read(folder + std::string(kProcesses));
  if (!text) {
    return false;
  }
  std::istringstream lines(*text);
  for (pid_t pid = 0; lines >> pid;) {
    // 0 is one of another pid namespace, which cannot be named here.
    if (pid > 0) {
      pids.push_back(pid);
    }
  }
  return true;
}

std::vector<std::string> folders_below(const sys::Root& root, const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  fs::directory_iterator entry(root.at(folder), error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (entry->symlink_status(ignored).type() == fs::file_type::directory) {
      found.push_back(folder + "/" + entry->path().filename().string());
    }
  }
  return found;
}

}  // namespace

std::optional<StatLine> parse_stat(std::string_view line) {
  // The name may hold spaces and brackets, so up to the last one.
  const std::size_t open = line.find('(');
  const std::size_t close = line.rfind(") ");
  Words words;
  if (open == std::string_view::npos || close == std::string_view::npos || close < open ||
      split(line.substr(close + 2), words) < kStartTicks || words[kState].empty()) {
    return std::nullopt;
  }
  return StatLine{.name = std::string(line.substr(open + 1, close - open - 1)),
                  .state = words[kState][0],
                  .parent = number_of<pid_t>(words[kParent]),
                  .group = number_of<pid_t>(words[kGroup]),
                  .start_ticks = number_of<std::uint64_t>(words[kStartTicks]),
                  .stack = number_of<std::uint64_t>(words[kStack]),
                  .arguments = number_of<std::uint64_t>(words[kArguments]),
                  .arguments_end = number_of<std::uint64_t>(words[kArgumentsEnd]),
                  .environment = number_of<std::uint64_t>(words[kEnvironment]),
                  .environment_end = number_of<std::uint64_t>(words[kEnvironmentEnd]),
                  .wait_status = number_of<int>(words[kWaitStatus])};
}

std::optional<StatLine> read_stat(const sys::Root& root, pid_t pid) {
  const Result<std::string> line = root.read("/proc/" + std::to_string(pid) + "/stat");
  return line ? parse_stat(*line) : std::nullopt;
}

// "net:[4026531840]"
std::uint64_t network_at(const sys::Root& root, std::string_view path) {
  std::error_code ignored;
  const std::string link = fs::read_symlink(root.at(path), ignored).string();
  const std::size_t open = link.find('[');
  return open == std::string::npos ? 0 : std::strtoull(link.c_str() + open + 1, nullptr, 10);
}

pid_t own_pid_of(const sys::Root& root, pid_t pid) {
  constexpr std::string_view kLine = "\nNSpid:";
  const std::string status = root.read("/proc/" + std::to_string(pid) + "/status").value_or("");
  const std::size_t line = status.find(kLine);
  if (line == std::string::npos) {
    return 0;
  }
  const std::size_t begin = line + kLine.size();
  const std::string_view pids =
      std::string_view(status).substr(begin, status.find('\n', begin) - begin);
  return number_of<pid_t>(pids.substr(pids.find_last_of(" \t") + 1));  // from outer to inner
}

// "7f5a1000-7f5a2000 rw-s 00000000 00:2f 1234                 /dev/shm/…/7.nccl"
std::optional<bool> maps_file(const sys::Root& root, pid_t pid, std::uint64_t inode,
                              std::string_view suffix) {
  const Result<std::string> maps = root.read("/proc/" + std::to_string(pid) + "/maps");
  if (!maps) {
    return std::nullopt;
  }
  const std::string number = " " + std::to_string(inode) + " ";
  std::string_view rest = *maps;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (line.ends_with(suffix) && line.find(number) != std::string_view::npos) {
      return true;
    }
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  return false;
}

std::vector<pid_t> pids_below(const sys::Root& root, std::string_view folder) {
  std::vector<pid_t> pids;
  for (const std::string& name : root.list(folder)) {
    if (const pid_t pid = number_of<pid_t>(name); pid > 0) {
      pids.push_back(pid);
    }
  }
  std::ranges::sort(pids);
  return pids;
}

std::optional<std::string> find_cgroup(const sys::Root& root, const std::string& name) {
  if (is_line(name)) {
    return by_line(root, name);
  }
  std::string path = without_end_slash(name.starts_with('/') ? name : "/" + name);
  if (path.starts_with(kMount) && is_cgroup(root, path)) {
    return path;
  }
  return first_cgroup(root, hierarchies(root), path);
}

std::optional<std::vector<pid_t>> pids_of_cgroup(const sys::Root& root, const std::string& folder) {
  std::vector<pid_t> pids;
  if (!append_pids(root, folder, pids)) {
    return std::nullopt;
  }
  std::vector<std::string> folders = folders_below(root, folder);
  while (!folders.empty()) {
    const std::string next = std::move(folders.back());
    folders.pop_back();
    append_pids(root, next, pids);
    std::ranges::move(folders_below(root, next), std::back_inserter(folders));
  }
  std::ranges::sort(pids);
  const auto twice = std::ranges::unique(pids);
  pids.erase(twice.begin(), twice.end());
  return pids;
}

}  // namespace chokepoint::capture::job
