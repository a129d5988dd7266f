#include "capture/step/mark.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/sys/descriptor.h"
#include "capture/step/socket_address.h"

namespace chokepoint::capture::step {
namespace {

constexpr std::size_t kMostName = 64;

template <class T>
std::optional<T> number_of(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = !text.empty() && error == std::errc() && end == text.data() + text.size();
  return is_whole && value >= 0 ? std::optional(value) : std::nullopt;
}

std::string_view next_word(std::string_view& rest) {
  constexpr std::string_view kBetween(" \t\r\n\0", 5);
  rest.remove_prefix(std::min(rest.find_first_not_of(kBetween), rest.size()));
  const std::string_view word = rest.substr(0, rest.find_first_of(kBetween));
  rest.remove_prefix(word.size());
  return word;
}

void take_word(std::string_view word, Mark& mark) {
  const std::size_t equals = word.find('=');
  const std::string_view value = equals == word.npos ? word : word.substr(equals + 1);
  const std::string_view key = equals == word.npos ? "" : word.substr(0, equals);
  if (key.empty()) {
    mark.number = number_of<std::int64_t>(value);
  } else if (key == "samples") {
    mark.samples = number_of<std::int64_t>(value);
  } else if (key == "rank") {
    mark.rank = number_of<int>(value);
  } else if (key == "t") {
    mark.t_ns = number_of<std::int64_t>(value);
  }
}

}  // namespace

bool is_mark_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostName && std::ranges::all_of(name, [](char byte) {
    return byte > ' ' && byte < 0x7f && byte != '=';
  });
}

std::optional<Mark> read_mark(std::string_view datagram) {
  const std::string_view name = next_word(datagram);
  if (!is_mark_name(name)) {
    return std::nullopt;
  }
  Mark mark{.name = std::string(name)};
  for (std::string_view word = next_word(datagram); !word.empty(); word = next_word(datagram)) {
    take_word(word, mark);
  }
  return mark;
}

std::string text_of(const Mark& mark) {
  std::string text = mark.name;
  text += mark.number ? " " + std::to_string(*mark.number) : "";
  text += mark.samples ? " samples=" + std::to_string(*mark.samples) : "";
  text += mark.rank ? " rank=" + std::to_string(*mark.rank) : "";
  text += mark.t_ns ? " t=" + std::to_string(*mark.t_ns) : "";
  return text;
}

Result<> send_mark(const std::filesystem::path& socket, const Mark& mark) {
  const std::optional<sockaddr_un> address = address_of(socket);
  if (!address) {
    return fail(ErrorKind::Malformed, "", socket.string(), "too long for the path of a socket");
  }
  const sys::Descriptor sender(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const std::string text = text_of(mark);
  if (!sender || sendto(sender.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                        generic(*address), sizeof *address) < 0) {
    return fail(from_errno(errno, "", socket.string()));
  }
  return {};
}

}  // namespace chokepoint::capture::step
