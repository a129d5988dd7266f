#include "base/sys/named_folders.h"

#include <string>
#include <system_error>

namespace chokepoint::sys {

void for_each_named(const std::filesystem::path& below, std::string_view prefix,
                    const std::function<void(const std::filesystem::path&)>& visit) {
  namespace fs = std::filesystem;
  constexpr int kMostLooked = 4'096;
  std::error_code error;
  int looked = 0;
  for (fs::directory_iterator at(below, fs::directory_options::skip_permission_denied, error), end;
       !error && at != end && looked < kMostLooked; at.increment(error), ++looked) {
    if (at->path().filename().string().starts_with(prefix)) {
      visit(at->path());
    }
  }
}

}  // namespace chokepoint::sys
