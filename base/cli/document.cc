#include "base/cli/document.h"

#include <unistd.h>

#include <array>

namespace chokepoint::cli {
namespace {

std::string host_name(const sys::Root& root) {
  if (root.is_live()) {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0') {
      return name.data();
    }
  }
  // What a network namespace with a name of its own is called stands here, too.
  return root.text("/proc/sys/kernel/hostname").value_or("unknown");
}

}  // namespace

Json document(const Context& context, std::string_view schema) {
  return {{"schema", schema},
          {"host", host_name(context.root)},
          {"started_at", sys::rfc3339(context.clock.wall_ns())}};
}

void print(const Context& context, const Json& document) {
  context.out << document.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace chokepoint::cli
