#include "base/cli/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/sys/descriptor.h"
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
    // Some file systems tell only now that there was no room.
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

Error cannot_open(const fs::path& path, int code) {
  Error error = from_errno(code, "", path.string());
  if (code == ENOENT) {
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

Result<std::unique_ptr<Output>> open_file(const fs::path& path) {
  const fs::path place = place_of(path);
  std::error_code error;
  const fs::file_status status = fs::status(place, error);
  if (fs::is_directory(status)) {
    return fail(from_errno(EISDIR, "", path.string()));
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    sys::Descriptor descriptor(::open(place.c_str(), O_WRONLY | O_CLOEXEC));
    return descriptor ? Result<std::unique_ptr<Output>>(
                            std::make_unique<File>(std::move(descriptor), path, fs::path()))
                      : fail(cannot_open(path, errno));
  }
  const fs::path temporary =
      place.parent_path() / fmt::format(".{}.{}.part", place.filename().string(), ::getpid());
  sys::Descriptor descriptor(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, kMode));
  if (!descriptor) {
    return fail(cannot_open(path, errno));
  }
  return std::make_unique<File>(std::move(descriptor), place, temporary);
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
