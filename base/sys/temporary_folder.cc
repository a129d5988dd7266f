#include "base/sys/temporary_folder.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <tuple>

namespace chokepoint::sys {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kMostRemoval{5};

void remove_folder(const fs::path& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

Error not_made(int code, const std::string& subject) {
  Error error = from_errno(code, "make", subject);
  error.next_step = "set TMPDIR to a folder that can be written to";
  return error;
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::make(std::string_view name) {
  std::error_code failed;
  const fs::path parent = fs::temp_directory_path(failed);
  if (failed) {
    return fail(not_made(failed.value(), "the folder for temporary files"));
  }
  TRY(Pipe alive, open_pipe("make", name));
  std::string made = (parent / fmt::format("{}-XXXXXX", name)).string();
  if (mkdtemp(made.data()) == nullptr) {
    return fail(not_made(errno, made));
  }
  Result<Process> keeper = Process::fork_to_outlive([&] {
    const int end = keep_only(alive.read.get());
    char byte = 0;
    while (read(end, &byte, 1) < 0 && errno == EINTR) {
    }
    remove_folder(made);
    return 0;
  });
  if (!keeper) {
    remove_folder(made);
    return std::unexpected(keeper.error());
  }
  return TemporaryFolder(made, std::move(alive.write), *std::move(keeper));
}

TemporaryFolder::~TemporaryFolder() {
  if (alive_) {
    remove_folder(path_);
    alive_.reset();
    std::ignore = keeper_.wait_until(std::chrono::steady_clock::now() + kMostRemoval);
  }
}

}  // namespace chokepoint::sys
