#include "tests/probe/peer/private_network.h"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/sys/descriptor.h"

namespace chokepoint::peers {
namespace {

bool raise_loopback() {
  const sys::Descriptor fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  if (ioctl(fd.get(), SIOCGIFFLAGS, &request) < 0) {
    return false;
  }
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  return ioctl(fd.get(), SIOCSIFFLAGS, &request) == 0;
}

}  // namespace

std::string enter_private_network() {
  if (unshare(CLONE_NEWNET) < 0) {
    return std::string("no network namespace of its own: ") + std::strerror(errno);
  }
  return raise_loopback() ? "" : "the loopback interface stays down";
}

}  // namespace chokepoint::peers
