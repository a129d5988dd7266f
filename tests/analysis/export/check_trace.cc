// Reads a Perfetto trace strictly (see trace_reader.h) and says what is in it and what is wrong.
//
// usage: check_trace FILE
#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "tests/analysis/export/trace_reader.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: check_trace FILE\n");
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const chokepoint::analysis::TraceContent trace = chokepoint::analysis::read_trace(bytes);
  fmt::print("{} bytes, {} tracks, {} events\n", bytes.size(), trace.tracks.size(),
             trace.events.size());
  for (const std::string& fault : trace.faults) {
    fmt::print("{}\n", fault);
  }
  return trace.faults.empty() && !trace.events.empty() ? 0 : 1;
}
