#include "probe/collective/nccl/environment.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace chokepoint::probe::collective::nccl {
namespace {

constexpr const char* kLogName = "log";

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
  std::error_code ignored;
  std::string folder =
      (std::filesystem::temp_directory_path(ignored) / "chokepoint-nccl.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    return fail(from_errno(errno, "backend nccl", folder));
  }
  log.folder_ = folder;
  set_unless_set("NCCL_DEBUG_SUBSYS", "INIT,NET");
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("NCCL_DEBUG_FILE", (log.folder_ / kLogName).c_str(), 1);
  return log;
}

LogFile::LogFile(LogFile&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}

LogFile::~LogFile() {
  if (!folder_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
}

std::string LogFile::text() const {
  if (folder_.empty()) {
    return {};
  }
  std::ifstream file(folder_ / kLogName);
  return {std::istreambuf_iterator<char>(file), {}};
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
