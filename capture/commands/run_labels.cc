#include "capture/commands/run_labels.h"

namespace chokepoint::capture {

Result<std::map<std::string, std::string>> labels_of(const std::vector<std::string>& words) {
  std::map<std::string, std::string> labels;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(ErrorKind::Usage, "--label", word, "not of the form key=value",
                  "for one: --label batch=16");
    }
    labels[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return labels;
}

}  // namespace chokepoint::capture
