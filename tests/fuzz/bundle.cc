// Records as they come from another host: whatever the bytes, lines and sizes stay bounded, and no
// name leads out of the folder.
#include "base/record/bundle.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

using namespace chokepoint;

constexpr std::size_t kMostPiece = 4096;

void check_that(bool holds) {
  if (!holds) abort();
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)record::beginning_in(text);
  std::size_t at = 0;
  record::BundleReader reader([&](std::span<char> into) {
    const std::size_t count = std::min({into.size(), size - at, kMostPiece});
    std::memcpy(into.data(), data + at, count);
    at += count;
    return Result<std::size_t>(count);
  });
  if (!reader.head()) return 0;
  for (;;) {
    const auto entry = reader.next();
    if (!entry || !*entry) return 0;
    check_that((*entry)->name.find('/') == std::string::npos && (*entry)->name.front() != '.');
    check_that((*entry)->from >= 0 && (*entry)->from <= (*entry)->bytes);
    std::int64_t taken = 0;
    const Result<> done = reader.take(**entry, [&](std::string_view bytes) -> Result<> {
      taken += static_cast<std::int64_t>(bytes.size());
      return {};
    });
    check_that(!done || taken == (*entry)->bytes - (*entry)->from);
    if (!done) return 0;
  }
}
