// A preflight's document from a file that anybody may have written: whatever the bytes, what was
// measured or an error, and what was read can be told and read again.
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "base/sys/clock.h"
#include "preflight/report/document.h"
#include "preflight/report/page.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace chokepoint;
  const auto measured = preflight::measured_in_text({reinterpret_cast<const char*>(data), size});
  if (!measured) {
    return 0;
  }
  std::ostringstream out;
  const sys::SystemClock clock;
  const cli::Context context{.out = out,
                             .err = out,
                             .clock = clock,
                             .root = sys::Root("/"),
                             .environment = [](const std::string&) { return std::nullopt; },
                             .out_terminal = {},
                             .err_terminal = {}};
  preflight::print_page(context, *measured, {}, true);
  const auto document = preflight::document_of(context, *measured, {});
  const auto text = document.dump(-1, ' ', false, cli::Json::error_handler_t::replace);
  if (!preflight::measured_in_text(text)) std::abort();
  return 0;
}
