#include "base/install/install.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/sys/file.h"
#include "base/sys/library.h"
#include "base/sys/process.h"
#include "base/sys/temporary_folder.h"

namespace chokepoint::install {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInstall = "install";
constexpr mode_t kProgram = 0755;
constexpr mode_t kText = 0644;
constexpr const char* kManual = "share/man/man1";

struct Completion {
  std::string_view shell;
  std::string_view path;
};
constexpr std::array kCompletions{
    Completion{"bash", "share/bash-completion/completions/chokepoint"},
    Completion{"zsh", "share/zsh/site-functions/_chokepoint"},
    Completion{"fish", "share/fish/vendor_completions.d/chokepoint.fish"}};

// One file to be installed, relative to where.
struct Piece {
  fs::path path = {};
  std::string content = {};
  mode_t mode = kText;
};

std::unexpected<Error> cannot(const std::error_code& code, const fs::path& path) {
  Error error = from_errno(code.value(), kInstall, path.string());
  if (error.kind == ErrorKind::Permission) {
    error.next_step = "run it as root, or name a folder of your own: chokepoint install ~/.local";
  }
  return fail(std::move(error));
}

// What this program prints when it is asked to.
Result<std::string> printed_by(const std::vector<std::string>& words) {
  std::vector<std::string> command{"/proc/self/exe"};
  command.insert(command.end(), words.begin(), words.end());
  constexpr std::chrono::seconds kPatience{20};
  constexpr std::size_t kMostBytes = 4 << 20;
  TRY(sys::Captured done, sys::capture_output({.command = command}, kPatience, kMostBytes));
  if (done.status.code != 0) {
    return fail(ErrorKind::Io, kInstall, words.front(), done.err);
  }
  return std::move(done.out);
}

Result<std::string> content_of(const fs::path& path) {
  constexpr std::size_t kMostBytes = 256 << 20;
  return sys::read_input(path, kMostBytes, kInstall);
}

Result<> add_manual(std::vector<Piece>& pieces) {
  TRY(const sys::TemporaryFolder folder, sys::TemporaryFolder::make("chokepoint-install"));
  TRY(printed_by({"man-pages", folder.path().string()}));
  std::error_code problem;
  for (const fs::directory_entry& page : fs::directory_iterator(folder.path(), problem)) {
    TRY(std::string text, content_of(page.path()));
    pieces.push_back({fs::path(kManual) / page.path().filename(), std::move(text)});
  }
  return problem ? cannot(problem, folder.path()) : Result<>();
}

Result<std::vector<Piece>> all_pieces() {
  std::vector<Piece> pieces;
  TRY(std::string program, content_of("/proc/self/exe"));
  pieces.push_back({"bin/chokepoint", std::move(program), kProgram});
  for (const sys::CarriedFile& file : sys::carried_files()) {
    pieces.push_back(
        {fs::path("lib/chokepoint") / file.name,
         std::string(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()),
         file.name == sys::kCaptureProgram ? kProgram : kText});
  }
  for (const Completion& completion : kCompletions) {
    TRY(std::string text, printed_by({"completion", std::string(completion.shell)}));
    pieces.push_back({completion.path, std::move(text)});
  }
  TRY(add_manual(pieces));
  std::ranges::sort(pieces, {}, &Piece::path);
  return pieces;
}

// Beside its place first: a program that runs cannot be written over.
Result<> write_piece(const fs::path& prefix, const Piece& piece) {
  const fs::path path = prefix / piece.path;
  std::error_code problem;
  fs::create_directories(path.parent_path(), problem);
  if (problem) {
    return cannot(problem, path.parent_path());
  }
  const fs::path fresh = path.string() + ".new";
  fs::remove(fresh, problem);
  const sys::Descriptor file(
      open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, piece.mode));
  // Whatever umask says.
  if (!file || !sys::write_whole(file, piece.content) || fchmod(file.get(), piece.mode) != 0) {
    const std::error_code code(errno, std::generic_category());
    fs::remove(fresh, problem);
    return cannot(code, path);
  }
  fs::rename(fresh, path, problem);
  return problem ? cannot(problem, path) : Result<>();
}

// As setcap writes it: cap_net_raw, permitted and effective.
Result<> allow_capture(const fs::path& program) {
  vfs_cap_data data{};
  data.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE;
  data.data[0].permitted = 1U << CAP_NET_RAW;
  if (setxattr(program.c_str(), "security.capability", &data, XATTR_CAPS_SZ_2, 0) != 0) {
    return cannot(std::error_code(errno, std::generic_category()), program);
  }
  return {};
}

bool is_in_path(const cli::Context& context, const fs::path& folder) {
  const std::string path = ":" + context.environment("PATH").value_or("") + ":";
  return path.find(":" + folder.string() + ":") != std::string::npos;
}

class Install final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {
        .name = kInstall,
        .purpose = "install this program, its manual and shell completion on this host",
        .description =
            "Copies the program to PREFIX/bin, the files that it contains to "
            "PREFIX/lib/chokepoint, its manual "
            "pages and the completion of bash, zsh and fish to PREFIX/share. PREFIX is /usr/local "
            "for root, else ~/.local. Files of an earlier installation are replaced.\n\n"
            "The program also runs without installation: copy its one file.",
        .examples = {{"./chokepoint install", "for yourself, in ~/.local"},
                     {"sudo ./chokepoint install --allow-capture",
                      "for all users of this host, who may capture packets then"},
                     {"sudo chokepoint install --remove", "remove it again"}},
        .json = false};
  }

  void define(cli::Flags& flags) override {
    flags.positional("PREFIX", &prefix_, "the folder to install to", false);
    flags.group("Installation")
        .toggle("allow-capture", &allow_capture_,
                "let every user of this host capture packets; for root")
        .toggle("remove", &remove_, "remove the files of an installation there");
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(const fs::path prefix, chosen_prefix(context));
    if (allow_capture_ && sys::carried_files().empty()) {
      return fail(ErrorKind::Usage, kInstall, "--allow-capture", "this program carries no helper",
                  sys::command_to_allow_capture());
    }
    TRY(const std::vector<Piece> pieces, all_pieces());
    if (remove_) {
      return remove(context, prefix, pieces);
    }
    for (const Piece& piece : pieces) {
      TRY(write_piece(prefix, piece));
    }
    if (allow_capture_) {
      TRY(allow_capture(prefix / "lib/chokepoint" / sys::kCaptureProgram));
    }
    tell(context, prefix, pieces.size());
    return cli::ExitCode::Done;
  }

 private:
  Result<fs::path> chosen_prefix(const cli::Context& context) const {
    if (!prefix_.empty()) {
      return fs::absolute(prefix_).lexically_normal();
    }
    const std::string home = context.environment("HOME").value_or("");
    if (geteuid() != 0 && home.empty()) {
      return fail(ErrorKind::Usage, kInstall, "", "HOME is not set",
                  "name the folder to install to: chokepoint install PREFIX");
    }
    return geteuid() == 0 ? fs::path("/usr/local") : fs::path(home) / ".local";
  }

  static Result<cli::ExitCode> remove(cli::Context& context, const fs::path& prefix,
                                      const std::vector<Piece>& pieces) {
    std::size_t removed = 0;
    for (const Piece& piece : pieces) {
      std::error_code problem;
      removed += fs::remove(prefix / piece.path, problem) ? 1 : 0;
      if (problem) {
        return cannot(problem, prefix / piece.path);
      }
    }
    std::error_code ignored;
    fs::remove(prefix / "lib/chokepoint", ignored);  // where nothing else lies in it
    fmt::print(context.out, "removed {} files of chokepoint from {}\n", removed, prefix.string());
    return cli::ExitCode::Done;
  }

  void tell(cli::Context& context, const fs::path& prefix, std::size_t files) const {
    const fs::path program = prefix / "bin/chokepoint";
    fmt::print(context.out, "installed {}, and {} files that belong to it below {}\n",
               program.string(), files - 1, prefix.string());
    if (allow_capture_) {
      fmt::print(context.out, "every user of this host may capture packets with it now\n");
    }
    if (!is_in_path(context, program.parent_path())) {
      fmt::print(context.err, "not in your PATH yet: export PATH={}:$PATH\n",
                 program.parent_path().string());
    }
  }

  std::string prefix_;
  bool allow_capture_ = false;
  bool remove_ = false;
};

}  // namespace

cli::CommandFactory install_command() { return cli::command<Install>(); }

}  // namespace chokepoint::install
