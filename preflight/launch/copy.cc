#include "preflight/launch/copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/mman.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <vector>

#include "base/control/handshake.h"
#include "base/sys/process.h"

namespace chokepoint::preflight {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHashBytes = 8;

class Hash {
 public:
  Hash() { crypto_hash_sha256_init(&state_); }

  void add(std::string_view bytes) {
    crypto_hash_sha256_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()),
                              bytes.size());
  }

  Result<> add_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::array<char, 65536> piece{};
    while (file.read(piece.data(), piece.size()) || file.gcount() > 0) {
      add({piece.data(), static_cast<std::size_t>(file.gcount())});
    }
    if (!file.eof()) {
      return fail(from_errno(errno, "read", path.string()));
    }
    return {};
  }

  std::string text() {
    std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
    crypto_hash_sha256_final(&state_, digest.data());
    return control::to_hex(std::span(digest).first(kHashBytes));
  }

 private:
  crypto_hash_sha256_state state_{};
};

std::string name_of(const std::string& version, const std::string& hash) {
  return fmt::format("{}{}{}", version, version.empty() ? "" : "-", hash);
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const char* part : {"bin", "lib"}) {
    for (fs::recursive_directory_iterator at(folder / part, ignored), end; at != end;
         at.increment(ignored)) {
      if (at->is_regular_file(ignored)) {
        files.push_back(at->path());
      }
    }
  }
  std::ranges::sort(files);
  return files;
}

// Its licences tell a folder that brings all of its libraries along from one installed among the
// system's; and nothing else's programs shall be sent around.
bool is_relocatable(const fs::path& folder) {
  std::error_code ignored;
  const fs::directory_iterator programs(folder / "bin", ignored);
  return fs::is_directory(folder / "share/doc/chokepoint/licences", ignored) &&
         std::distance(begin(programs), end(programs)) == 1;
}

}  // namespace

Result<Copy> Copy::of_file(const std::string& path, const std::string& version) {
  Hash hash;
  TRY(hash.add_file(path));
  Copy copy;
  copy.file_ = path;
  copy.name_ = name_of(version, hash.text());
  return copy;
}

Result<Copy> Copy::of_installation(const fs::path& program, const std::string& version) {
  const fs::path folder = program.parent_path().parent_path();
  if (program.parent_path().filename() != "bin" || !is_relocatable(folder)) {
    return fail(ErrorKind::Unsupported, "copy", program.string(),
                "this is not the relocatable tarball's, and nothing else can be copied",
                "install chokepoint there, or give its tarball: --tarball FILE");
  }
  Hash hash;
  for (const fs::path& file : files_below(folder)) {
    hash.add(file.lexically_relative(folder).string());
    TRY(hash.add_file(file));
  }
  Copy copy;
  copy.folder_ = folder;
  copy.name_ = name_of(version, hash.text());
  return copy;
}

Result<> Copy::make() {
  sys::Descriptor packed(memfd_create("chokepoint-copy", MFD_CLOEXEC));
  if (!packed) {
    return fail(from_errno(errno, "pack", folder_.string()));
  }
  const std::string name = folder_.filename().string();
  Result<sys::Process> tar =
      sys::Process::start({.command = {"tar", "-czf", "-", "-C", folder_.parent_path().string(),
                                       "--", name + "/bin", name + "/lib"},
                           .out = packed.get()});
  if (!tar) {
    return std::unexpected(tar.error());
  }
  const Result<sys::ExitStatus> status = tar->wait();
  if (!status || status->code != 0) {
    return fail(ErrorKind::Io, "pack", folder_.string(), "tar has failed",
                "give the tarball: --tarball FILE");
  }
  packed_ = std::move(packed);
  return {};
}

Result<sys::Descriptor> Copy::open() {
  if (file_.empty() && !packed_) {
    TRY(make());
  }
  // Opened anew, so that each reader begins at the beginning.
  const std::string path =
      file_.empty() ? fmt::format("/proc/self/fd/{}", packed_.get()) : file_.string();
  sys::Descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened) {
    return fail(from_errno(errno, "open", path));
  }
  return opened;
}

}  // namespace chokepoint::preflight
