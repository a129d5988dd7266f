#include "base/cli/document.h"

#include "base/sys/host_name.h"

namespace chokepoint::cli {

Json document(const Context& context, std::string_view schema) {
  return {{"schema", schema},
          {"host", sys::host_name(context.root)},
          {"started_at", sys::rfc3339(context.clock.wall_ns())}};
}

void print(const Context& context, const Json& document) {
  context.out << document.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace chokepoint::cli
