#include "preflight/launch/launch.h"

#include <filesystem>
#include <utility>

#include "base/sys/descriptor.h"
#include "preflight/launch/host_names.h"
#include "preflight/launch/hosts_work.h"
#include "preflight/launch/launch_method.h"

namespace chokepoint::preflight {
namespace {

Result<> check(const LaunchWanted& wanted) {
  if (wanted.key.empty() || wanted.key.find('\n') != std::string::npos) {
    return fail(ErrorKind::Usage, "", "the key", "one line is handed to the agents",
                "head -c 32 /dev/urandom | base64 makes one");
  }
  if (!wanted.copy.empty()) {
    TRY(Copy::of_file(wanted.copy, wanted.version));
  }
  return check_names(wanted.hosts);
}

Result<std::filesystem::path> own_program() {
  std::error_code code;
  std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", code);
  if (code) {
    return fail(from_errno(code.value(), "find", "this program"));
  }
  return path;
}

constexpr std::size_t kForEach = 4;  // its input and output, its end, its agent's connection

class Nothing final : public Launch {
 public:
  std::optional<Error> trouble(std::size_t) override { return {}; }
};

}  // namespace

Result<std::unique_ptr<Launch>> launch(Launcher launcher, const LaunchWanted& wanted,
                                       const sys::Clock& clock, const sys::Root& root) {
  if (launcher == Launcher::None) {
    return std::make_unique<Nothing>();
  }
  TRY(check(wanted));
  TRY(const std::filesystem::path program, own_program());
  const std::size_t held = launcher == Launcher::Ssh ? wanted.hosts.size() : 1;
  TRY(sys::want_descriptors(kForEach * held));
  return LaunchThread::start(
      std::make_unique<HostsWork>(launch_method_of(launcher), wanted, program, clock, root), wanted,
      clock);
}

}  // namespace chokepoint::preflight
