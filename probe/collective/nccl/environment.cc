#include "probe/collective/nccl/environment.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

namespace chokepoint::probe::collective::nccl {
namespace {

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

void set_unless_set(const char* name, const std::string& value) {
  if (!is_set(name)) {
    setenv(name, value.c_str(), 1);
  }
}

}  // namespace

Result<LogFile> LogFile::start() {
  LogFile log;
  if (is_set("NCCL_DEBUG") || is_set("NCCL_DEBUG_FILE")) {
    set_unless_set("NCCL_DEBUG_FILE", "/dev/stderr");
    return log;
  }
  const int memory = memfd_create("nccl-log", MFD_CLOEXEC);
  if (memory < 0) {
    return fail(from_errno(errno, "backend nccl", "NCCL's log"));
  }
  log.descriptor_ = memory;
  set_unless_set("NCCL_DEBUG_SUBSYS", "INIT,NET");
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("NCCL_DEBUG_FILE", fmt::format("/proc/self/fd/{}", memory).c_str(), 1);
  return log;
}

std::string LogFile::text() const {
  std::string text;
  std::array<char, 4096> piece{};
  while (descriptor_) {
    const ssize_t got =
        pread(*descriptor_, piece.data(), piece.size(), static_cast<off_t>(text.size()));
    if (got <= 0) {
      break;
    }
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

void use_interface(const std::string& named) {
  if (!named.empty()) {
    const bool has_mark = named.starts_with('^') || named.starts_with('=');
    setenv("NCCL_SOCKET_IFNAME", ((has_mark ? "" : "=") + named).c_str(), 1);
  }
}

void share_gpus(const std::string& host, int rank) {
  set_unless_set("NCCL_HOSTID", host + "-" + std::to_string(rank));
  set_unless_set("NCCL_NET", "Socket");
  set_unless_set("NCCL_P2P_DISABLE", "1");
  set_unless_set("NCCL_SHM_DISABLE", "1");
}

}  // namespace chokepoint::probe::collective::nccl
