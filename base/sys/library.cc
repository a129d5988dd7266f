#include "base/sys/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <system_error>

#include "base/sys/descriptor.h"
#include "base/sys/file.h"

namespace chokepoint::sys {
namespace {

std::span<const CarriedFile> carried;

std::optional<std::filesystem::path> this_program() {
  std::error_code problem;
  std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", problem);
  return problem ? std::nullopt : std::optional(std::move(program));
}

// Kernels since 6.3 are asked for a file that may be run; older ones do not know the question.
Descriptor open_memory(const std::string& name) {
  constexpr unsigned kMayRun = 0x10;  // MFD_EXEC of newer headers
  Descriptor memory(memfd_create(name.c_str(), MFD_CLOEXEC | kMayRun));
  if (!memory && errno == EINVAL) {
    memory.reset(memfd_create(name.c_str(), MFD_CLOEXEC));
  }
  return memory;
}

std::string_view text_of(const CarriedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()};
}

// A carried file, once it was asked for; open as long as this process lives.
std::optional<std::filesystem::path> in_memory(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, Descriptor, std::less<>> opened;
  const auto file = std::ranges::find(carried, name, &CarriedFile::name);
  if (file == carried.end()) {
    return std::nullopt;
  }
  const std::lock_guard lock(mutex);
  auto found = opened.find(name);
  if (found == opened.end()) {
    constexpr mode_t kRunnable = 0555;
    Descriptor memory = open_memory(std::string(name));
    if (!memory || !write_whole(memory, text_of(*file)) || fchmod(memory.get(), kRunnable) != 0) {
      return std::nullopt;
    }
    found = opened.emplace(name, std::move(memory)).first;
  }
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(found->second.get());
}

}  // namespace

Result<Library> Library::open(const std::string& name) {
  return open(name, RTLD_LAZY | RTLD_LOCAL);
}

Result<Library> Library::open_for_good(const std::string& name) {
  return open(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
}

Result<Library> Library::open_own_for_good(std::string_view name) {
  const auto path = own_library(name);
  if (!path) {
    return fail(ErrorKind::NotFound, "open library", name, "not beside this program");
  }
  for (const CarriedFile& file : carried) {
    if (file.needed_by == name) {
      TRY(open_own_for_good(file.name));
    }
  }
  return open_for_good(path->string());
}

Result<Library> Library::open(const std::string& name, int flags) {
  void* handle = dlopen(name.c_str(), flags);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return fail(ErrorKind::NotFound, "open library", name, reason == nullptr ? "" : reason);
  }
  return Library(handle);
}

std::optional<std::string> Library::path_of(const char* function) const {
  Dl_info info{};
  void* address = symbol(function);
  if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    return std::nullopt;
  }
  return info.dli_fname;
}

void Library::Close::operator()(void* handle) const { dlclose(handle); }

void* Library::symbol(const char* name) const { return dlsym(handle_.get(), name); }

void carry_files(std::span<const CarriedFile> files) { carried = files; }

std::span<const CarriedFile> carried_files() { return carried; }

std::optional<std::filesystem::path> library_beside(const std::filesystem::path& program,
                                                    std::string_view name) {
  const std::filesystem::path folder = program.parent_path();
  for (const std::filesystem::path& lib : {folder.parent_path() / "lib", folder / "lib"}) {
    std::filesystem::path path = lib / "chokepoint" / name;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) {
      return path;
    }
  }
  return std::nullopt;
}

std::optional<std::filesystem::path> library_beside(std::string_view name) {
  const auto program = this_program();
  return program ? library_beside(*program, name) : std::nullopt;
}

std::optional<std::filesystem::path> own_library(std::string_view name) {
  auto beside = library_beside(name);
  return beside ? beside : in_memory(name);
}

std::string command_to_allow_capture() {
  const std::filesystem::path own = this_program().value_or("chokepoint");
  const auto helper =
      own.filename() == kCaptureProgram ? std::optional(own) : library_beside(kCaptureProgram);
  if (!helper && !carried.empty()) {
    return "sudo " + own.string() + " install --allow-capture";
  }
  return "sudo setcap cap_net_raw+ep " + (helper ? helper->string() : std::string(kCaptureProgram));
}

}  // namespace chokepoint::sys
