#include "base/cli/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/sys/descriptor.h"
#include "base/sys/file.h"
#include "base/sys/regular_file.h"
#include "base/sys/root.h"

namespace chokepoint::cli {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kMode = 0666;  // less what the umask takes

class File final : public Output {
 public:
  // `temporary` is empty where the file is written in its place.
  File(sys::Descriptor descriptor, fs::path path, fs::path temporary)
      : descriptor_(std::move(descriptor)),
        path_(std::move(path)),
        temporary_(std::move(temporary)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() override {
    if (!temporary_.empty()) {
      ::unlink(temporary_.c_str());
    }
  }

  Result<> settle() override {
    if (const Result<> written = Output::settle(); !written) {
      return written;
    }
    // Some file systems (NFS) report only now that the disk is full.
    if (descriptor_ && ::close(descriptor_.release()) != 0) {
      return fail(from_errno(errno, "", path_.string()));
    }
    return {};
  }

  Result<> finish() override {
    if (const Result<> settled = settle(); !settled) {
      return settled;
    }
    if (!temporary_.empty() && ::rename(temporary_.c_str(), path_.c_str()) != 0) {
      return fail(from_errno(errno, "", path_.string()));
    }
    temporary_.clear();
    return {};
  }

 private:
  Result<> put(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) {
        return fail(from_errno(errno, "", path_.string()));
      }
      bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    }
    return {};
  }

  sys::Descriptor descriptor_;
  fs::path path_;
  fs::path temporary_;
};

class Stream final : public Output {
 public:
  Stream(std::ostream& out, std::string name) : out_(out), name_(std::move(name)) {}

  Result<> settle() override {
    if (const Result<> written = Output::settle(); !written) {
      return written;
    }
    out_.flush();
    return checked();
  }

 private:
  Result<> put(std::string_view bytes) override {
    errno = 0;
    out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return checked();
  }
  Result<> checked() const {
    return out_.good() ? Result<>() : fail(from_errno(errno != 0 ? errno : EIO, "", name_));
  }

  std::ostream& out_;
  std::string name_;
};

// Where a link leads: that is what is replaced, not the link.
fs::path place_of(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? path : real;
}

// Another user who may put a link into a folder must not choose the file that this process,
// possibly root's, writes.
Result<> check_link(const fs::path& path) {
  struct stat found{};
  const bool is_others = lstat(path.c_str(), &found) == 0 && S_ISLNK(found.st_mode) &&
                         found.st_uid != ::geteuid() && found.st_uid != 0;
  return is_others ? fail(ErrorKind::Permission, "", path.string(), "is a link of another user",
                          "give the file itself, or another place, with -o")
                   : Result<>();
}

Error cannot_open(Error error) {
  if (error.code == ENOENT) {
    error.next_step = "make its folder first, or give another place with -o";
  }
  return error;
}

}  // namespace

void Output::flush() {
  if (done_ && !buffer_.empty()) {
    done_ = put(buffer_);
    bytes_ += buffer_.size();
  }
  buffer_.clear();
}

Result<> Output::settle() {
  flush();
  return done_;
}

namespace {

Result<std::unique_ptr<Output>> open_beside(const fs::path& path, const fs::path& place) {
  const fs::path temporary =
      place.parent_path() / fmt::format(".{}.{}.part", place.filename().string(), ::getpid());
  ::unlink(temporary.c_str());  // of an earlier process with this number
  Result<sys::Descriptor> descriptor =
      sys::open_regular("", temporary, O_WRONLY | O_CREAT | O_EXCL, kMode);
  if (!descriptor) {
    descriptor.error().subject = path.string();
    return fail(cannot_open(descriptor.error()));
  }
  return std::make_unique<File>(std::move(*descriptor), place, temporary);
}

}  // namespace

Result<std::unique_ptr<Output>> open_file(const fs::path& path) {
  TRY(check_link(path));
  const fs::path place = place_of(path);
  std::error_code error;
  const fs::file_status status = fs::status(place, error);
  if (fs::is_directory(status)) {
    return fail(from_errno(EISDIR, "", path.string()));
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    TRY(sys::Descriptor descriptor, sys::open_output(path, kMode, ""));
    return std::make_unique<File>(std::move(descriptor), path, fs::path());
  }
  return open_beside(path, place);
}

Result<std::unique_ptr<Output>> open_own_file(const fs::path& path) {
  TRY(sys::check_regular("", path));
  return open_beside(path, path);
}

std::unique_ptr<Output> open_stream(std::ostream& out, std::string name) {
  return std::make_unique<Stream>(out, std::move(name));
}

Json document(const Context& context, std::string_view schema) {
  return {{"schema", schema},
          {"host", sys::host_name(context.root)},
          {"started_at", sys::rfc3339(context.clock.wall_ns())}};
}

void print(const Context& context, const Json& document) {
  context.out << document.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace chokepoint::cli
