#include "capture/step/marks_folder.h"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/sys/descriptor.h"
#include "base/sys/root.h"
#include "capture/step/socket_address.h"

namespace chokepoint::capture::step {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "chokepoint-marks-";

// Only what is bound and has nobody at its other end: a socket that is just being made has no file.
bool is_left_over(const fs::path& folder) {
  const auto address = address_of(folder / "marks");
  const sys::Descriptor probe(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return address && probe && connect(probe.get(), generic(*address), sizeof *address) != 0 &&
         errno == ECONNREFUSED;
}

void take_away(const fs::path& folder) {
  ::unlink((folder / "marks").c_str());
  ::rmdir(folder.c_str());
}

void remove_left_overs(const fs::path& below) {
  sys::for_each_named(below, kPrefix, [](const fs::path& folder) {
    if (is_left_over(folder)) {
      take_away(folder);
    }
  });
}

Result<fs::path> made(const fs::path& below) {
  std::string name = (below / kPrefix).string() + "XXXXXX";
  if (!address_of(name + "/marks")) {
    return fail(ErrorKind::Unsupported, "listen for marks", below.string(),
                "too long for the path of a socket", "set TMPDIR to a shorter path");
  }
  remove_left_overs(below);
  if (mkdtemp(name.data()) == nullptr) {
    Error error = from_errno(errno, "listen for marks", below.string());
    error.next_step = "set TMPDIR to a folder that can be written to";
    return fail(std::move(error));
  }
  return name;
}

}  // namespace

Result<MarksFolder> MarksFolder::make(const fs::path& below) {
  Result<fs::path> folder = made(below);
  for (const char* other : {"/tmp", "/dev/shm"}) {
    if (Result<fs::path> instead = folder ? folder : made(other); instead) {
      return MarksFolder(*instead);
    }
  }
  return fail(folder.error());
}

MarksFolder::~MarksFolder() {
  if (!path_.empty()) {
    take_away(path_);
  }
}

}  // namespace chokepoint::capture::step
