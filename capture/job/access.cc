#include "capture/job/access.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/kernel_text.h"
#include "base/host/process.h"
#include "base/sys/number.h"

namespace chokepoint::capture::job {
namespace {

// A line of /proc/PID/status: real, effective, saved.
using Ids = std::array<std::uint32_t, 3>;

struct Rights {
  std::optional<Ids> users = {};
  std::optional<Ids> groups = {};
  std::optional<std::uint64_t> permitted = {};  // capabilities, a bit each
};

std::optional<Ids> ids_of(const std::vector<std::string>& words) {
  Ids ids{};
  for (std::size_t at = 0; at < ids.size(); ++at) {
    const auto id =
        at + 1 < words.size() ? sys::parse_number<std::uint32_t>(words[at + 1]) : std::nullopt;
    if (!id) {
      return std::nullopt;
    }
    ids.at(at) = *id;
  }
  return ids;
}

Rights rights_of(const std::string& status) {
  Rights rights;
  for (const std::string& line : host::lines_of(status)) {
    const std::vector<std::string> words = host::words_of(line);
    const std::string_view name = words.empty() ? std::string_view() : words[0];
    if (name == "Uid:") {
      rights.users = ids_of(words);
    } else if (name == "Gid:") {
      rights.groups = ids_of(words);
    } else if (name == "CapPrm:" && words.size() == 2) {
      rights.permitted = sys::parse_number<std::uint64_t>(words[1], 16);
    }
  }
  return rights;
}

bool is_refused(int error) { return error == EACCES || error == EPERM; }

// What the environment takes is less than what open files and network take, for who has
// CAP_PERFMON or CAP_SYS_ADMIN.
bool is_hidden(const std::string& folder, const sys::Root& root) {
  std::array<char, 64> link{};
  const std::string network = root.at(folder + "/ns/net");
  if (readlink(network.c_str(), link.data(), link.size()) < 0 && is_refused(errno)) {
    return true;
  }
  const Result<std::string> environment = root.read(folder + "/environ");
  return !environment && environment.error().kind == ErrorKind::Permission;
}

// Equal to all three, as the kernel requires.
bool are_all(const std::optional<Ids>& ids, std::uint32_t own) {
  return !ids || *ids == Ids{own, own, own};
}

std::string reason_of(const Rights& rights, std::uint64_t own) {
  if (!are_all(rights.users, geteuid())) {
    return fmt::format("it is another user's, {}", rights.users->front());
  }
  if (!are_all(rights.groups, getegid())) {
    return fmt::format("it is in another group, {}", rights.groups->front());
  }
  if ((rights.permitted.value_or(0) & ~own) != 0) {
    return "it has capabilities that this process has not";
  }
  return "it may not be dumped (prctl PR_SET_DUMPABLE, or a program with rights of its own)";
}

// Files of /proc/PID are root's where it may not be dumped.
std::vector<std::string_view> missing(const std::string& folder, const host::Process& own,
                                      const sys::Root& root) {
  constexpr std::uint64_t kPassesPermissions = 1U << 1 | 1U << 2;  // DAC_OVERRIDE, DAC_READ_SEARCH
  std::vector<std::string_view> names;
  if (!host::has(own, host::Capability::SysPtrace).value_or(false)) {
    names.emplace_back("CAP_SYS_PTRACE");
  }
  struct stat file{};
  const bool is_own =
      stat(root.at(folder + "/environ").c_str(), &file) == 0 && file.st_uid == geteuid();
  if (!is_own && (own.capabilities.value_or(0) & kPassesPermissions) == 0) {
    names.emplace_back("CAP_DAC_READ_SEARCH");
  }
  return names;
}

std::string advice(const std::vector<std::string_view>& names) {
  const std::string all = fmt::format("{}", fmt::join(names, " and "));
  return geteuid() == 0 ? fmt::format("root lacks {} here; 'podman run --cap-add' gives it", all)
                        : fmt::format("run as root, or with {}", all);
}

}  // namespace

std::optional<Error> hidden_because(pid_t pid, const sys::Root& root) {
  const std::string folder = "/proc/" + std::to_string(pid);
  if (!is_hidden(folder, root)) {
    return std::nullopt;
  }
  const host::Process own = host::read_process(root);
  const Rights rights = rights_of(root.read(folder + "/status").value_or(""));
  const std::vector<std::string_view> names = missing(folder, own, root);
  Error error{.kind = ErrorKind::Permission,
              .operation = "watch",
              .subject = fmt::format("process {}", pid),
              .reason = reason_of(rights, own.capabilities.value_or(0)),
              .next_step = advice(names)};
  if (names.empty()) {
    error.reason = "the kernel does not let it be looked at";
    error.next_step = "is it in another user namespace, or does a security module guard it?";
  }
  return error;
}

}  // namespace chokepoint::capture::job
