#include "base/checks/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ranges>

#include "base/cli/utf8.h"

namespace chokepoint::checks {
namespace {

constexpr std::size_t kMostTold = 3;
constexpr std::size_t kLongest = 120;

// Bytes that begin no letter are not cut apart from the one that does.
std::string shortened(std::string text) {
  if (text.size() > kLongest) {
    std::size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
      --end;
    }
    text.replace(end, std::string::npos, "…");
  }
  return text;
}

}  // namespace

std::string brief(const Check& check) {
  std::string text = fmt::format("{} {}", check.id, check.subject);
  if (!check.found.empty()) {
    text += ": " + check.found;
  }
  if (!check.wanted.empty()) {
    text += ", wanted " + check.wanted;
  }
  return shortened(cli::printable(text));
}

std::string summary(const Checks& checks, Status least) {
  Checks bad;
  std::ranges::copy_if(checks, std::back_inserter(bad),
                       [&](const Check& check) { return check.status >= least; });
  std::ranges::stable_sort(bad, std::ranges::greater{}, &Check::status);
  std::string line;
  for (const Check& check : bad | std::views::take(kMostTold)) {
    line += (line.empty() ? "" : "; ") + brief(check);
  }
  return bad.size() > kMostTold ? fmt::format("{} (and {} more)", line, bad.size() - kMostTold)
                                : line;
}

}  // namespace chokepoint::checks
