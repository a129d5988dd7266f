#include "base/sys/pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace chokepoint::sys {

Result<Pipe> open_pipe(std::string_view operation, std::string_view subject) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(from_errno(errno, operation, subject));
  }
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace chokepoint::sys
