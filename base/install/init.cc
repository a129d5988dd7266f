#include "base/install/init.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/control/key.h"
#include "base/sys/file.h"

namespace chokepoint::install {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInit = "init";
constexpr mode_t kSecret = 0600;
constexpr mode_t kReadable = 0644;
// Where the three lie, for a host or for a user.
struct Places {
  fs::path key = {};
  fs::path defaults = {};
  fs::path service = {};  // empty: none
};

Error cannot_write(int code, const fs::path& path) {
  Error error = from_errno(code, kInit, path.string());
  if (error.kind == ErrorKind::Permission) {
    error.next_step = "'sudo chokepoint init' is for all users of this host";
  }
  return error;
}

// False where something is there already.
Result<bool> make_file(const fs::path& path, std::string_view content, mode_t mode) {
  std::error_code problem;
  fs::create_directories(path.parent_path(), problem);
  if (problem) {
    return fail(cannot_write(problem.value(), path));
  }
  const sys::Descriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!file) {
    return errno == EEXIST ? Result<bool>(false) : fail(cannot_write(errno, path));
  }
  if (!sys::write_whole(file, content)) {
    const int code = errno;
    fs::remove(path, problem);
    return fail(cannot_write(code, path));
  }
  return true;
}

// With the whole path of this program: it may lie where systemd does not look.
std::string service_of(const fs::path& program) {
  constexpr std::string_view kStart = "ExecStart=chokepoint ";
  std::string text(service_unit());
  const std::size_t at = text.find(kStart);
  return text.replace(at, kStart.size(), fmt::format("ExecStart={} ", program.string()));
}

std::string new_key() {
  std::array<unsigned char, 32> bytes{};
  randombytes_buf(bytes.data(), bytes.size());
  std::string text(sodium_base64_ENCODED_LEN(bytes.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(text.data(), text.size(), bytes.data(), bytes.size(),
                    sodium_base64_VARIANT_ORIGINAL);
  text.pop_back();  // the terminator
  return text + "\n";
}

class Init final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {
        .name = kInit,
        .purpose = "make this host a peer: a key, defaults and the service",
        .description =
            "Makes a key, which all hosts that test each other need, and a file of defaults "
            "that names the key, so that no command needs --key-file. Run by root, it puts "
            "them into /etc, and adds a service for systemd that runs 'chokepoint serve' "
            "without any privilege; else into ~/.config. Files that exist are kept.\n\n"
            "Every host needs the same key: give it the first one's by --key-file.",
        .examples = {{"sudo chokepoint init", "on the first host"},
                     {"sudo cat /etc/chokepoint.key | ssh gpu2 sudo chokepoint init --key-file -",
                      "on each of the others"}},
        .json = false};
  }

  void define(cli::Flags& flags) override {
    flags.group("What to make")
        .option("key-file", &key_file_, "FILE", "another host's key; '-' is standard input")
        .formerly("key")
        .toggle("user", &is_for_user_, "in ~/.config, also as root");
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(const Places places, places_of(context));
    TRY(const std::string key, wanted_key());
    TRY(make(context, "key", places.key, key, kSecret));
    TRY(check_key(places.key, key));
    TRY(make(context, "defaults", places.defaults,
             fmt::format("key-file = \"{}\"\n", places.key.string()), kReadable));
    if (!places.service.empty()) {
      std::error_code problem;
      const fs::path program = fs::read_symlink("/proc/self/exe", problem);
      TRY(make(context, "service", places.service, service_of(problem ? "chokepoint" : program),
               kReadable));
    }
    tell_next(context, places);
    return cli::ExitCode::Done;
  }

 private:
  Result<Places> places_of(const cli::Context& context) const {
    if (geteuid() == 0 && !is_for_user_) {
      std::error_code ignored;
      const fs::path units = context.root.at("/etc/systemd/system");
      return Places{
          .key = context.root.at("/etc/chokepoint.key"),
          .defaults = context.root.at("/etc/chokepoint.toml"),
          .service = fs::is_directory(units, ignored) ? units / "chokepoint.service" : fs::path()};
    }
    const std::string own = context.environment("XDG_CONFIG_HOME").value_or("");
    const std::string home = context.environment("HOME").value_or("");
    if (own.empty() && home.empty()) {
      return fail(ErrorKind::Usage, kInit, "", "HOME is not set", "set it, or run this as root");
    }
    const fs::path folder = own.empty() ? fs::path(home) / ".config" : fs::path(own);
    return Places{.key = folder / "chokepoint.key", .defaults = folder / "chokepoint.toml"};
  }

  Result<std::string> wanted_key() const {
    if (key_file_.empty()) {
      return new_key();
    }
    constexpr std::size_t kMostBytes = 4096;
    TRY(std::string key,
        sys::read_input(key_file_ == "-" ? "/dev/stdin" : key_file_, kMostBytes, kInit));
    if (key.find_first_not_of(" \t\r\n") == std::string::npos) {
      return fail(ErrorKind::Usage, kInit, key_file_, "holds no key",
                  "it is /etc/chokepoint.key of the first host");
    }
    return key;
  }

  static Result<> make(cli::Context& context, std::string_view what, const fs::path& path,
                       std::string_view content, mode_t mode) {
    TRY(const bool is_new, make_file(path, content, mode));
    fmt::print(context.out, "{:<10} {}{}\n", what, path.string(),
               is_new ? "" : " (kept as it was)");
    return {};
  }

  // A given key that another one is in the way of would be refused by every peer.
  Result<> check_key(const fs::path& path, const std::string& wanted) const {
    TRY(const std::string text, control::read_key_text(path.string()));
    const bool is_wanted = key_file_.empty() || wanted.starts_with(text);
    return is_wanted ? Result<>()
                     : fail(ErrorKind::Usage, kInit, path.string(), "holds another key",
                            "remove the file to take the given one");
  }

  void tell_next(cli::Context& context, const Places& places) const {
    const std::string key = places.key.string();
    const std::string sudo = is_for_user_ || geteuid() != 0 ? "" : "sudo ";
    fmt::print(context.out,
               "\nnext       {0}\n"
               "           {1}cat {2} | ssh HOST {1}chokepoint init --key-file -     # on each "
               "other host\n"
               "           chokepoint preflight HOST HOST …\n",
               places.service.empty() ? "chokepoint serve                # let it run"
                                      : "systemctl enable --now chokepoint.service",
               sudo, key);
  }

  std::string key_file_;
  bool is_for_user_ = false;
};

}  // namespace

cli::CommandFactory init_command() { return cli::command<Init>(); }

}  // namespace chokepoint::install
