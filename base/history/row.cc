#include "base/history/row.h"

#include <algorithm>
#include <array>

namespace chokepoint::history {
namespace {

constexpr std::array kKinds{"host", "gpu", "nic", "disk", "path", "group", "job"};

}  // namespace

const char* name_of(SubjectKind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }

std::optional<SubjectKind> subject_kind(std::string_view name) {
  const auto* const found = std::ranges::find(kKinds, name);
  return found == kKinds.end() ? std::nullopt
                               : std::optional(static_cast<SubjectKind>(found - kKinds.begin()));
}

std::string text_of(const Subject& subject) {
  std::string text = subject.host;
  for (const auto& [before, part] : {std::pair{" ", &subject.name}, {" > ", &subject.to}}) {
    if (!part->empty()) {
      text += (text.empty() ? "" : before) + *part;
    }
  }
  return text;
}

}  // namespace chokepoint::history
