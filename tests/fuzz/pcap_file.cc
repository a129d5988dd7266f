// A pcap file is a stranger's word: whatever its bytes, in pieces of whatever size, every frame
// lies inside them, as many as when they come at once.
#include "tests/fuzz/any_file.h"

// The input is the size of the pieces and the file.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace chokepoint::capture::source;
  if (size == 0) {
    return 0;
  }
  const std::span<const std::uint8_t> file(data + 1, size - 1);
  check_that(read_any_file(file, std::size_t{data[0]} + 1) == read_any_file(file, SIZE_MAX));
  return 0;
}
