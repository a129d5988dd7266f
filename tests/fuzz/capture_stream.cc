// A capture as it comes from a disk: plain, or packed by gzip or zstd, whole or cut. Whatever the
// bytes, they are unpacked piece by piece, and no more is kept than a batch of frames.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fuzz/any_file.h"

namespace {

using namespace chokepoint::capture::source;

// One file, written anew for each input.
struct File {
  std::filesystem::path path = std::filesystem::temp_directory_path() /
                               ("chokepoint-fuzz-capture-" + std::to_string(getpid()));
  ~File() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

// gzip packs a thousand bytes of nothing into one, and zstd far more: the rest is not looked at.
constexpr std::size_t kMostReads = 2000;

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const File place;
  std::ofstream(place.path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  auto stream = open_stream(place.path.string());
  if (!stream) return 0;
  auto source = file_source(*std::move(stream), "a");
  if (!source) return 0;
  static Batch batch;  // making one takes longer than reading most files
  for (std::size_t reads = 0; reads < kMostReads; ++reads) {
    const auto progress = (*source)->read(batch);
    check_that(progress.has_value());
    check_batch(batch, (*source)->interfaces());
    if (*progress == Progress::End) break;
  }
  return 0;
}
