#include "probe/serve/ready.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "base/sys/descriptor.h"

namespace chokepoint::probe::serve {
namespace {

TEST(Ready, TellsWhoeverStartedIt) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("chokepoint-notify-" + std::to_string(getpid()));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const sys::Descriptor manager(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  ASSERT_EQ(bind(manager.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  tell_ready(path);
  std::array<char, 64> said{};
  const ssize_t got = recv(manager.get(), said.data(), said.size(), 0);
  unlink(path.c_str());
  ASSERT_GT(got, 0);
  EXPECT_STREQ(said.data(), "READY=1");
}

TEST(Ready, NobodyToTellIsNoTrouble) {
  tell_ready(std::nullopt);
  tell_ready("/no/such/socket");
  tell_ready(std::string(500, 'x'));
}

}  // namespace
}  // namespace chokepoint::probe::serve
