// What a process of the job sends to the socket of marks: whatever the bytes, a mark that can be
// written and read again, or none.
#include <cstdlib>

#include "capture/step/marks.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace chokepoint::capture::step;
  const auto mark = read_mark({reinterpret_cast<const char*>(data), size});
  if (!mark) return 0;
  if (!is_mark_name(mark->name)) std::abort();
  const auto again = read_mark(text_of(*mark));
  if (!again || again->name != mark->name || again->number != mark->number ||
      again->samples != mark->samples || again->rank != mark->rank || again->t_ns != mark->t_ns) {
    std::abort();
  }
  return 0;
}
