#include "capture/job/caller_environment.h"

#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

#include "capture/job/stat_line.h"

namespace chokepoint::capture::job {
namespace {

// The strings themselves stay where the kernel put them. /proc/self/environ cannot be opened by
// just those programs that need this.
std::string_view original_strings() {
  const std::optional<StatLine> own = read_stat(sys::Root(), getpid());
  if (!own || own->environment == 0 || own->environment_end <= own->environment) {
    return {};
  }
  return {std::bit_cast<const char*>(static_cast<std::uintptr_t>(own->environment)),
          own->environment_end - own->environment};
}

}  // namespace

std::vector<std::pair<std::string, std::string>> withheld_variables() {
  std::vector<std::pair<std::string, std::string>> found;
  if (getauxval(AT_SECURE) == 0) {
    return found;
  }
  std::string_view rest = original_strings();
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find('\0'));
    const std::size_t equals = entry.find('=');
    const std::string name(entry.substr(0, equals));
    if (equals != std::string_view::npos && getenv(name.c_str()) == nullptr) {
      found.emplace_back(name, entry.substr(equals + 1));
    }
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
  }
  return found;
}

}  // namespace chokepoint::capture::job
