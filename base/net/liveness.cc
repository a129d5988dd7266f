#include "base/net/liveness.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace chokepoint::net {
namespace {

struct Setting {
  int level;
  int name;
  int value;
};

constexpr int kProbes = 2;

}  // namespace

Result<> end_on_silence(int fd, std::chrono::seconds silence) {
  const int each = static_cast<int>(silence.count()) / (kProbes + 1);
  const int all_ms = static_cast<int>(std::chrono::milliseconds(silence).count());
  const std::array settings{
      Setting{SOL_SOCKET, SO_KEEPALIVE, 1}, Setting{IPPROTO_TCP, TCP_KEEPIDLE, each},
      Setting{IPPROTO_TCP, TCP_KEEPINTVL, each}, Setting{IPPROTO_TCP, TCP_KEEPCNT, kProbes},
      Setting{IPPROTO_TCP, TCP_USER_TIMEOUT, all_ms}};
  for (const Setting& setting : settings) {
    if (setsockopt(fd, setting.level, setting.name, &setting.value, sizeof(setting.value)) < 0) {
      return fail(from_errno(errno, "watch for silence", "connection"));
    }
  }
  return {};
}

}  // namespace chokepoint::net
