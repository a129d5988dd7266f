#include "capture/keeper/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <utility>
#include <vector>

#include "base/record/forward.h"
#include "base/sys/signals.h"

namespace chokepoint::capture::keeper {
namespace {

using std::chrono::milliseconds;

constexpr const char* kKeeperName = "chokepoint-keep";
// For a disk that does not answer: to open, to take what was captured, to close.
constexpr milliseconds kDiskPatience{5'000};
constexpr milliseconds kAnswerPatience{1'000};
constexpr int kPipeBytes = 1 << 20;
constexpr std::size_t kCopyBytes = std::size_t{256} << 10;

enum class Message : std::int32_t {
  NextFile,
  Rows,
  Close,  // of the capture
  Opened,
  Failed,
  File,
  FilesTrouble,
  RecordTrouble,
  Closed,  // of the keeper
};

bool send(int socket, Message kind, std::string_view bytes, milliseconds time, int passed = -1) {
  return sys::send_message(socket, {.kind = static_cast<std::int32_t>(kind)}, bytes, time, passed);
}

// The keeper's own side.
class KeeperProcess {
 public:
  KeeperProcess(int socket, const KeeperOptions& options)
      : socket_(socket), options_(options), buffer_(sys::message_buffer()), copy_(kCopyBytes) {}

  void run(const sys::Root& root, const sys::Clock& clock) {
    if (const Result<> opened = open_record(root, clock); !opened) {
      send(socket_, Message::Failed, sys::packed_error(opened.error()), kAnswerPatience);
      return;
    }
    send(socket_, Message::Opened, writer_ ? writer_->path().string() : "", kAnswerPatience);
    while (!is_over_) {
      std::array<pollfd, 2> waiting{pollfd{.fd = socket_, .events = POLLIN, .revents = 0},
                                    pollfd{.fd = packets_.get(), .events = POLLIN, .revents = 0}};
      poll(waiting.data(), waiting.size(), -1);
      if (waiting[1].revents != 0) {
        copy_some();
      }
      take_messages();
    }
    copy_rest();
    if (writer_) {
      note_record(writer_->close());
    }
    tell_and_end();
  }

 private:
  Result<> open_record(const sys::Root& root, const sys::Clock& clock) {
    if (!options_.record) {
      return {};
    }
    TRY(writer_, record::Writer::open(*options_.record, root, clock));
    target_.emplace(*writer_, "packets", options_.waits);
    receiver_.emplace(*target_);
    return {};
  }

  void take_messages() {
    bool is_gone = false;
    while (const auto received = sys::receive_message(socket_, buffer_.get(), is_gone)) {
      switch (static_cast<Message>(received->head.kind)) {
        case Message::NextFile:
          answer_next_file();
          break;
        case Message::Rows:
          take_rows(received->bytes);
          break;
        case Message::Close:
          is_over_ = true;
          return;
        default:
          break;
      }
    }
    is_over_ = is_over_ || is_gone;
  }

  void take_rows(std::string_view rows) {
    if (!receiver_ || record_trouble_) {
      return;
    }
    if (const Result<> taken = receiver_->take(rows); !taken) {
      record_trouble_ = taken.error();
    }
  }

  void answer_next_file() {
    copy_rest();
    const std::string path = source::capture_path(options_.files, ++files_);
    auto file = source::open_capture(options_.files, files_);
    auto pipe = sys::open_pipe("write capture", path);
    if (!file || !pipe) {
      const Error& error = file ? pipe.error() : file.error();
      send(socket_, Message::Failed, sys::packed_error(error), kAnswerPatience);
      return;
    }
    // An unprivileged user with many pipes gets smaller ones, which work as well.
    static_cast<void>(fcntl(pipe->read.get(), F_SETPIPE_SZ, kPipeBytes));
    // The capture must not wait for ever: see OutputFile.
    static_cast<void>(fcntl(pipe->write.get(), F_SETFL, O_NONBLOCK));
    path_ = path;
    file_ = *std::move(file);
    packets_ = std::move(pipe->read);
    send(socket_, Message::File, path, kAnswerPatience, pipe->write.get());
  }

  // False at the end of the file, or of the room for it: the capture then cannot write any more.
  bool copy_some() {
    const ssize_t got = read(packets_.get(), copy_.data(), copy_.size());
    if (got < 0 && errno == EINTR) {
      return true;
    }
    std::size_t written = 0;
    while (got > 0 && written < static_cast<std::size_t>(got)) {
      const ssize_t put =
          write(file_.get(), copy_.data() + written, static_cast<std::size_t>(got) - written);
      if (put < 0 && errno != EINTR) {
        files_trouble_ = from_errno(errno, "write capture", path_);
        break;
      }
      written += put < 0 ? 0 : static_cast<std::size_t>(put);
    }
    if (got <= 0 || files_trouble_) {
      packets_.reset();
      file_.reset();
      return false;
    }
    return true;
  }

  void copy_rest() {
    while (packets_ && copy_some()) {
    }
  }

  void note_record(const record::WriterStatus& status) {
    dropped_rows_ = status.dropped;
    if (!record_trouble_ && status.trouble) {
      record_trouble_ = status.trouble;
    }
  }

  void tell_and_end() const {
    if (files_trouble_) {
      send(socket_, Message::FilesTrouble, sys::packed_error(*files_trouble_), kAnswerPatience);
    }
    if (record_trouble_) {
      send(socket_, Message::RecordTrouble, sys::packed_error(*record_trouble_), kAnswerPatience);
    }
    send(socket_, Message::Closed, std::to_string(dropped_rows_), kAnswerPatience);
  }

  const int socket_;
  const KeeperOptions& options_;
  std::unique_ptr<char[]> buffer_;
  std::vector<char> copy_;
  std::unique_ptr<record::Writer> writer_;
  std::optional<record::WriterTarget> target_;
  std::optional<record::Receiver> receiver_;
  std::string path_;
  sys::Descriptor file_;
  sys::Descriptor packets_;
  std::size_t files_ = 0;
  std::optional<Error> files_trouble_;
  std::optional<Error> record_trouble_;
  std::uint64_t dropped_rows_ = 0;
  bool is_over_ = false;
};

// In a process just forked, with all signals blocked. Nothing that the capture's caller waits for
// stays open here: the end of a pipe, a terminal.
[[noreturn]] void become_keeper(int socket, const KeeperOptions& options, const sys::Root& root,
                                const sys::Clock& clock) noexcept {
  setsid();
  prctl(PR_SET_NAME, kKeeperName);
  try {
    KeeperProcess(sys::keep_only(socket), options).run(root, clock);
  } catch (const std::exception&) {
    _exit(1);
  }
  _exit(0);
}

std::unexpected<Error> gone() {
  return fail(ErrorKind::Io, "keep", "", "the process that writes record and files has ended");
}

std::unexpected<Error> stuck() {
  return fail(ErrorKind::Timeout, "keep", "", "record or files cannot be written in time",
              "see whether the disk answers");
}

}  // namespace

Keeper::Keeper(pid_t pid, sys::Descriptor socket)
    : pid_(pid), socket_(std::move(socket)), buffer_(sys::message_buffer()) {}

Result<std::unique_ptr<Keeper>> Keeper::start(const KeeperOptions& options, const sys::Root& root,
                                              const sys::Clock& clock) {
  TRY(sys::MessageSockets sockets, sys::open_message_sockets("keep"));
  const sys::SignalsHeld held;
  const pid_t pid = fork();
  if (pid < 0) {
    return fail(from_errno(errno, "keep", "fork"));
  }
  if (pid == 0) {
    become_keeper(sockets.other.get(), options, root, clock);
  }
  std::unique_ptr<Keeper> keeper(new Keeper(pid, std::move(sockets.own)));
  sockets.other.reset();
  TRY(keeper->wait_until_open());
  return keeper;
}

Result<sys::ReceivedMessage> Keeper::receive(milliseconds time, int interrupt) {
  const auto until = std::chrono::steady_clock::now() + time;
  bool is_gone = false;
  for (;;) {
    if (auto received = sys::receive_message(socket_.get(), buffer_.get(), is_gone)) {
      return std::move(*received);
    }
    if (is_gone) {
      return gone();
    }
    const auto left =
        std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now()).count();
    std::array<pollfd, 2> waiting{pollfd{.fd = socket_.get(), .events = POLLIN, .revents = 0},
                                  pollfd{.fd = interrupt, .events = POLLIN, .revents = 0}};
    if (left <= 0) {
      return stuck();
    }
    poll(waiting.data(), waiting.size(), static_cast<int>(left));
    if (waiting[1].revents != 0) {
      return fail(ErrorKind::Interrupted, "keep", "",
                  "interrupted while record or files were closed");
    }
  }
}

Result<> Keeper::wait_until_open() {
  TRY(const sys::ReceivedMessage received, receive(kDiskPatience, -1));
  if (static_cast<Message>(received.head.kind) != Message::Opened) {
    return fail(sys::unpacked_error(received.bytes));
  }
  record_path_ = received.bytes;
  return {};
}

Result<sys::Descriptor> Keeper::next_file() {
  if (!send(socket_.get(), Message::NextFile, {}, kDiskPatience)) {
    return gone();
  }
  TRY(sys::ReceivedMessage received, receive(kDiskPatience, -1));
  if (!received.passed) {
    return fail(sys::unpacked_error(received.bytes));
  }
  return std::move(received.passed);
}

bool Keeper::send_rows(std::string_view rows) {
  is_stuck_ = is_stuck_ || !send(socket_.get(), Message::Rows, rows, kDiskPatience);
  return !is_stuck_;
}

Result<Kept> Keeper::close(int interrupt) {
  if (is_stuck_ || !send(socket_.get(), Message::Close, {}, kDiskPatience)) {
    return stuck();
  }
  Kept kept;
  for (;;) {
    TRY(const sys::ReceivedMessage received, receive(kDiskPatience, interrupt));
    switch (static_cast<Message>(received.head.kind)) {
      case Message::FilesTrouble:
        kept.files_trouble = sys::unpacked_error(received.bytes);
        break;
      case Message::RecordTrouble:
        kept.record_trouble = sys::unpacked_error(received.bytes);
        break;
      case Message::Closed:
        kept.dropped_rows = std::strtoull(std::string(received.bytes).c_str(), nullptr, 10);
        waitpid(pid_, nullptr, 0);
        return kept;
      default:
        return gone();
    }
  }
}

}  // namespace chokepoint::capture::keeper
