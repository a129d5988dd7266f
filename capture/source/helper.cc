#include "capture/source/helper.h"

#include <linux/capability.h>
#include <unistd.h>

#include <system_error>
#include <vector>

#include "base/sys/library.h"
#include "base/sys/root.h"
#include "base/sys/sandbox.h"

namespace chokepoint::capture::source {
namespace {

std::filesystem::path this_program() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored);
}

std::vector<std::string> own_words() {
  std::vector<std::string> words;
  const std::string line = sys::Root().read("/proc/self/cmdline").value_or("");
  for (std::size_t at = 0; at < line.size(); at = line.find('\0', at) + 1) {
    words.emplace_back(line.c_str() + at);
  }
  return words;
}

}  // namespace

std::optional<std::filesystem::path> helper_program() {
  const std::filesystem::path own = this_program();
  return own.filename() == sys::kCaptureProgram ? own : sys::own_library(sys::kCaptureProgram);
}

std::string how_to_allow_capture() {
  return "run as root, or once: " + sys::command_to_allow_capture();
}

void become_helper_if_needed() {
  // One that is carried has no capabilities.
  const auto helper = sys::library_beside(sys::kCaptureProgram);
  if (sys::has_capability(CAP_NET_RAW) || !helper || *helper == this_program() ||
      !sys::gives_capabilities(*helper)) {
    return;
  }
  std::vector<std::string> words = own_words();
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  execv(helper->c_str(), arguments.data());
}

}  // namespace chokepoint::capture::source
