#include "probe/serve/ready.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/sys/descriptor.h"

namespace chokepoint::probe::serve {

void tell_ready(const std::optional<std::string>& socket) {
  constexpr std::string_view kReady = "READY=1";
  sockaddr_un address{};
  if (!socket || socket->empty() || socket->size() >= sizeof(address.sun_path)) {
    return;
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket->data(), socket->size());
  if (address.sun_path[0] == '@') {
    address.sun_path[0] = '\0';  // the abstract name space
  }
  const sys::Descriptor fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket->size());
  sendto(fd.get(), kReady.data(), kReady.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
         reinterpret_cast<const sockaddr*>(&address), length);
}

}  // namespace chokepoint::probe::serve
