#include "base/sys/root.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include "base/sys/descriptor.h"
#include "base/sys/number.h"
#include "base/sys/regular_file.h"

namespace chokepoint::sys {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestFile = 16UL << 20;
constexpr std::string_view kWhiteSpace = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kWhiteSpace);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kWhiteSpace) - first + 1);
}

}  // namespace

Root::Root(fs::path folder) {
  std::error_code ignored;
  fs::path real = fs::canonical(folder, ignored);
  folder_ = real.empty() ? std::move(folder) : std::move(real);
  live_ = folder_ == "/";
}

fs::path Root::at(std::string_view path) const {
  const std::size_t first = path.find_first_not_of('/');
  return first == std::string_view::npos ? folder_ : folder_ / path.substr(first);
}

bool Root::exists(std::string_view path) const {
  std::error_code ignored;
  return fs::exists(at(path), ignored);
}

Result<std::string> Root::read(std::string_view path) const {
  // The kernel's own files have the form that it documents; a copy may hold anything.
  Result<Descriptor> file = live_ ? Descriptor(open(at(path).c_str(), O_RDONLY | O_CLOEXEC))
                                  : open_named("read", at(path));
  if (!file) {
    file.error().subject = path;
    return fail(std::move(file.error()));
  }
  if (!*file) {
    return fail(from_errno(errno, "read", path));
  }
  std::string content;
  std::array<char, 16384> chunk;
  while (true) {
    const ssize_t count = ::read(file->get(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return fail(from_errno(errno, "read", path));
    }
    if (count == 0) {
      return content;
    }
    content.append(chunk.data(), static_cast<std::size_t>(count));
    if (content.size() > kLargestFile) {
      return fail(ErrorKind::Malformed, "read", path, "larger than 16 MiB");
    }
  }
}

std::optional<std::string> Root::text(std::string_view path) const {
  const Result<std::string> content = read(path);
  if (!content || trimmed(*content).empty()) {
    return std::nullopt;
  }
  return std::string(trimmed(*content));
}

std::optional<std::int64_t> Root::number(std::string_view path) const {
  const std::optional<std::string> content = text(path);
  if (!content) {
    return std::nullopt;
  }
  std::string_view digits = *content;
  const bool hexadecimal = digits.starts_with("0x");
  if (hexadecimal) {
    digits.remove_prefix(2);
  }
  return parse_number<std::int64_t>(digits, hexadecimal ? 16 : 10);
}

std::vector<std::string> Root::list(std::string_view path) const {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(at(path), error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::optional<std::string> Root::resolve(std::string_view path) const {
  std::error_code error;
  const fs::path real = fs::canonical(at(path), error);
  if (error) {
    return std::nullopt;
  }
  const fs::path below = real.lexically_relative(folder_);
  if (below.empty() || *below.begin() == "..") {
    return std::nullopt;
  }
  return "/" + (below == "." ? std::string() : below.string());
}

std::optional<std::string> Root::link_target(std::string_view path) const {
  std::error_code error;
  const fs::path target = fs::read_symlink(at(path), error);
  return error ? std::nullopt : std::optional(target.string());
}

std::string host_name(const Root& root) {
  if (root.is_live()) {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0') {
      return name.data();
    }
  }
  // What a network namespace with a name of its own is called stands here, too.
  return root.text("/proc/sys/kernel/hostname").value_or("unknown");
}

void for_each_named(const std::filesystem::path& below, std::string_view prefix,
                    const std::function<void(const std::filesystem::path&)>& visit) {
  namespace fs = std::filesystem;
  constexpr int kMaxEntries = 4'096;
  std::error_code error;
  int looked = 0;
  for (fs::directory_iterator at(below, fs::directory_options::skip_permission_denied, error), end;
       !error && at != end && looked < kMaxEntries; at.increment(error), ++looked) {
    if (at->path().filename().string().starts_with(prefix)) {
      visit(at->path());
    }
  }
}

}  // namespace chokepoint::sys
