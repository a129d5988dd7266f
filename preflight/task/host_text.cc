#include "preflight/task/host_text.h"

#include <algorithm>

namespace chokepoint::preflight {
namespace {

constexpr unsigned char kDelete = 0x7f;

// Letters beyond ASCII are a resolver's matter.
bool is_odd(char letter) {
  const auto byte = static_cast<unsigned char>(letter);
  return byte <= ' ' || byte == kDelete || std::string_view(",/\\\"'`$").contains(letter);
}

}  // namespace

bool is_host_text(std::string_view text) {
  return !text.empty() && text.size() <= kLongestHost && !text.starts_with('-') &&
         std::ranges::none_of(text, is_odd);
}

}  // namespace chokepoint::preflight
