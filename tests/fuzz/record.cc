// A record is a stranger's file: whatever its bytes, it is read as `diagnose` and `record show`
// read it, or refused, and both soon.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "analysis/load/run_data.h"
#include "analysis/load/run_summary.h"
#include "base/record/reader.h"

namespace {

// One file, written anew for each input.
struct File {
  std::filesystem::path path = std::filesystem::temp_directory_path() /
                               ("chokepoint-fuzz-" + std::to_string(getpid()) + ".db");
  ~File() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace chokepoint;
  static const File place;
  {
    std::ofstream file(place.path, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  }
  auto run = record::open_run(place.path);
  if (!run) {
    return 0;
  }
  for (const std::size_t samples : {std::size_t{100'000}, std::size_t{10}}) {
    analysis::load_run(*run, {.samples_of_node = samples});
  }
  analysis::summarize(*run);
  return 0;
}
