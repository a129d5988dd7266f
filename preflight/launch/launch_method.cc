#include "preflight/launch/launch_method.h"

#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "base/control/handshake.h"
#include "base/host/launcher.h"
#include "base/sys/library.h"
#include "base/sys/regular_file.h"

namespace chokepoint::preflight {
namespace {

// Neither line end nor quote, backslash or exclamation mark: csh and fish read those their own way.
constexpr std::string_view kAgent =
    "port=$1 copy=$2; shift 2; "
    "[ -z \"$copy\" ] || "
    "set -- \"$@\" \"${XDG_CACHE_HOME:-$HOME/.cache}/chokepoint/agents/$copy/bin/chokepoint\"; "
    "for program in \"$@\"; do "
    "if \"$program\" serve --help </dev/null 2>/dev/null | grep -q -e --leash; then "
    "echo chokepoint-agent: starts; "
    "exec \"$program\" serve --leash --quiet --port \"$port\"; "
    "fi; done; "
    "echo \"chokepoint-agent: absent on $(uname -s) $(uname -m)\"; exit 97";

constexpr std::string_view kCopy =
    "set -e; umask 077; all=${XDG_CACHE_HOME:-${HOME:?}/.cache}/chokepoint/agents; into=$all/$1; "
    "if [ -x \"$into/bin/chokepoint\" ]; then exit 0; fi; "
    "mkdir -p \"$all\"; new=$(mktemp -d \"$all/.new-XXXXXX\"); "
    "clean() { rm -rf \"$new\"; }; trap clean EXIT; trap \"exit 1\" HUP INT TERM; "
    "mkdir \"$new/bin\"; cat >\"$new/bin/chokepoint\"; chmod 700 \"$new/bin/chokepoint\"; "
    "\"$new/bin/chokepoint\" --version >/dev/null; "
    "mv -T \"$new\" \"$into\" 2>/dev/null || [ -x \"$into/bin/chokepoint\" ]";

Words shell(std::string_view script, Words words) {
  Words all{"/bin/sh", "-c", std::string(script), "chokepoint"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Words by_ssh(const std::string& host, const Words& there) {
  return joined(host::ssh_to(host), {as_line(there)});
}

// Beside whatever else runs in the allocation, and bound to no processor: the measurements need
// them.
Words by_srun(const std::string& host, const Words& there) {
  return joined({"srun", "--overlap", "--nodes=1", "--ntasks=1", "--ntasks-per-node=1",
                 "--nodelist=" + host, "--cpu-bind=none", "--input=all", "--unbuffered"},
                there);
}

Words by_mpirun(const std::string& host, const Words& there) {
  Words words{"mpirun", "--host", host + ":1", "-np", "1", "--bind-to", "none"};
  if (geteuid() == 0) {
    words.emplace_back("--allow-run-as-root");
  }
  return joined(std::move(words), there);
}

namespace fs = std::filesystem;

constexpr std::size_t kHashBytes = 8;
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;

class Hash {
 public:
  Hash() { crypto_hash_sha256_init(&state_); }

  Result<> add_file(const fs::path& path) {
    TRY(const sys::Descriptor file, sys::open_named("read", path));
    struct stat about{};
    if (fstat(file.get(), &about) == 0 && about.st_size > std::int64_t{kMaxFileBytes}) {
      return fail(ErrorKind::Malformed, "read", path.string(), "is larger than any chokepoint");
    }
    std::array<char, 65536> piece{};
    for (std::size_t bytes = 0;;) {
      const ssize_t count = ::read(file.get(), piece.data(), piece.size());
      if (count < 0 && errno != EINTR) {
        return fail(from_errno(errno, "read", path.string()));
      }
      if (count == 0) {
        return {};
      }
      const auto read = static_cast<std::size_t>(std::max<ssize_t>(count, 0));
      crypto_hash_sha256_update(&state_, reinterpret_cast<const unsigned char*>(piece.data()),
                                read);
      bytes += read;
      if (bytes > kMaxFileBytes) {
        return fail(ErrorKind::Malformed, "read", path.string(), "is larger than any chokepoint");
      }
    }
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

}  // namespace

std::string quoted(std::string_view word) {
  std::string text = "'";
  for (const char c : word) {
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return text + "'";
}

Words agent_words(std::uint16_t port, std::string_view copy, const Words& programs) {
  Words words{fmt::format("{}", port), std::string(copy)};
  words.insert(words.end(), programs.begin(), programs.end());
  return shell(kAgent, std::move(words));
}

Words copy_words(std::string_view copy) { return shell(kCopy, {std::string(copy)}); }

std::string as_line(const Words& words) {
  std::string line = "exec";
  for (const std::string& word : words) {
    line += " " + preflight::quoted(word);
  }
  return line;
}

LaunchMethod launch_method_of(Launcher launcher) {
  switch (launcher) {
    case Launcher::Ssh:
      return {.program = "ssh", .can_copy = true, .command = by_ssh};
    case Launcher::Slurm:
      return {.program = "srun", .command = by_srun};
    case Launcher::Mpirun:
      // Without BatchMode the ssh that it calls would ask for a password.
      return {.program = "mpirun",
              .environment = {{"SSH_ASKPASS", "/bin/false"}, {"SSH_ASKPASS_REQUIRE", "force"}},
              .command = by_mpirun};
    case Launcher::None:
      break;
  }
  return {};
}

Result<Copy> Copy::of_file(const std::string& path, const std::string& version) {
  Hash hash;
  TRY(hash.add_file(path));
  Copy copy;
  copy.file_ = path;
  copy.name_ = name_of(version, hash.text());
  return copy;
}

Result<Copy> Copy::of_this_program(const fs::path& program, const std::string& version) {
  if (sys::carried_files().empty()) {
    return fail(ErrorKind::Unsupported, "copy", program.string(),
                "this is not a release's one file, and nothing else can be copied",
                "install chokepoint there, or give that file: --copy FILE");
  }
  TRY(Copy copy, of_file(program.string(), version));
  copy.is_this_program_ = true;
  return copy;
}

Result<sys::Descriptor> Copy::open() const { return sys::open_named("open", file_); }

}  // namespace chokepoint::preflight
