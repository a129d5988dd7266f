// The address of a Unix socket by its path, which may be no longer than 107 bytes. Pure functions.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

namespace chokepoint::capture::step {

inline std::optional<sockaddr_un> address_of(const std::filesystem::path& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string& text = path.native();
  if (text.empty() || text.size() >= sizeof address.sun_path) {
    return std::nullopt;
  }
  std::memcpy(address.sun_path, text.data(), text.size());
  return address;
}

inline const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

}  // namespace chokepoint::capture::step
