// What a collector answers to a document: whatever the bytes, nothing or one short line.
#include <cstdlib>

#include "base/otlp/otlp.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string said = chokepoint::otlp::left_out({reinterpret_cast<const char*>(data), size});
  if (said.size() > 256 || (!said.empty() && !said.starts_with("left out "))) std::abort();
  return 0;
}
