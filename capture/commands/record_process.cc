#include "capture/commands/record_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/record/forward.h"

namespace chokepoint::capture {
namespace {

using std::chrono::milliseconds;

constexpr const char* kRecordProcessName = "chokepoint-keep";
// Judgements. Of the disk: to open, to take what was captured, to close.
constexpr milliseconds kDiskTimeout{5'000};
constexpr milliseconds kReplyTimeout{1'000};
constexpr int kPipeBytes = 1 << 20;
constexpr std::size_t kCopyBytes = std::size_t{256} << 10;

enum class RecordMessage : std::int32_t {
  NextFile,
  Rows,
  Close,  // of the capture
  File,
  NoFile,
  FilesTrouble,
  RecordTrouble,
  Closed,  // of the process that writes
};

constexpr sys::WorkerWords kWords{.operation = "keep",
                                  .who = "the process that writes record and files",
                                  .late = "record or files cannot be written in time",
                                  .late_step = "see whether the disk answers",
                                  .interrupted = "interrupted while record or files were closed"};

// The other process's own side.
class RecordWork {
 public:
  RecordWork(sys::MessageSocket& capture, const RecordOptions& options)
      : capture_(capture), options_(options), copy_(kCopyBytes) {}

  void run(const sys::Root& root, const sys::Clock& clock) {
    if (const Result<> opened = open_record(root, clock); !opened) {
      send(sys::WorkerMessage::Failed, sys::packed_error(opened.error()));
      return;
    }
    send(sys::WorkerMessage::Opened, writer_ ? writer_->path().string() : "");
    while (!is_over_ && !capture_.is_gone()) {
      std::array<pollfd, 2> waiting{pollfd{capture_.descriptor(), POLLIN, 0},
                                    pollfd{packets_.get(), POLLIN, 0}};
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
    report_end();
  }

 private:
  template <class Kind>
  void send(Kind kind, std::string_view bytes, int passed = -1) const {
    capture_.send(kind, bytes, kReplyTimeout, {.passed = passed});
  }

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
    while (const auto received = capture_.receive()) {
      switch (received->kind<RecordMessage>()) {
        case RecordMessage::NextFile:
          open_next_file();
          break;
        case RecordMessage::Rows:
          take_rows(received->bytes);
          break;
        case RecordMessage::Close:
          is_over_ = true;
          return;
        default:
          break;
      }
    }
  }

  void take_rows(std::string_view rows) {
    if (!receiver_ || record_trouble_) {
      return;
    }
    if (const Result<> taken = receiver_->take(rows); !taken) {
      record_trouble_ = taken.error();
    }
  }

  void open_next_file() {
    copy_rest();
    const std::string path = source::capture_path(options_.files, ++files_);
    auto file = source::open_capture(options_.files, files_);
    auto pipe = sys::open_pipe("write capture", path);
    if (!file || !pipe) {
      const Error& error = file ? pipe.error() : file.error();
      send(RecordMessage::NoFile, sys::packed_error(error));
      return;
    }
    // An unprivileged user with many pipes gets smaller ones, which work as well.
    static_cast<void>(fcntl(pipe->read.get(), F_SETPIPE_SZ, kPipeBytes));
    // The capture must not wait for ever: see OutputFile.
    static_cast<void>(fcntl(pipe->write.get(), F_SETFL, O_NONBLOCK));
    path_ = path;
    file_ = *std::move(file);
    packets_ = std::move(pipe->read);
    send(RecordMessage::File, path, pipe->write.get());
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

  void report_end() const {
    if (files_trouble_) {
      send(RecordMessage::FilesTrouble, sys::packed_error(*files_trouble_));
    }
    if (record_trouble_) {
      send(RecordMessage::RecordTrouble, sys::packed_error(*record_trouble_));
    }
    send(RecordMessage::Closed, std::to_string(dropped_rows_));
  }

  sys::MessageSocket& capture_;
  const RecordOptions& options_;
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

sys::Worker::Clock::time_point in_time() { return sys::Worker::Clock::now() + kDiskTimeout; }

}  // namespace

Result<std::unique_ptr<RecordProcess>> RecordProcess::start(const RecordOptions& options,
                                                            const sys::Root& root,
                                                            const sys::Clock& clock) {
  TRY(sys::Worker worker, sys::Worker::fork({.words = kWords, .name = kRecordProcessName},
                                            [&](sys::MessageSocket& capture) {
                                              RecordWork(capture, options).run(root, clock);
                                            }));
  std::unique_ptr<RecordProcess> process(new RecordProcess(std::move(worker)));
  TRY(process->record_path_, process->worker_.opened(in_time()));
  return process;
}

Result<sys::Descriptor> RecordProcess::next_file() {
  if (!worker_.socket().send(RecordMessage::NextFile, {}, kDiskTimeout)) {
    return fail(worker_.why_ended());
  }
  TRY(sys::ReceivedMessage received, worker_.receive_by(in_time()));
  if (!received.passed) {
    return fail(sys::unpacked_error(received.bytes));
  }
  return std::move(received.passed);
}

bool RecordProcess::send_rows(std::string_view rows) {
  is_stuck_ = is_stuck_ || !worker_.socket().send(RecordMessage::Rows, rows, kDiskTimeout);
  return !is_stuck_;
}

Result<WrittenCapture> RecordProcess::close(int interrupt) {
  if (is_stuck_ || !worker_.socket().send(RecordMessage::Close, {}, kDiskTimeout)) {
    return fail(worker_.late());
  }
  WrittenCapture written;
  for (;;) {
    TRY(const sys::ReceivedMessage received, worker_.receive_by(in_time(), interrupt));
    switch (received.kind<RecordMessage>()) {
      case RecordMessage::FilesTrouble:
        written.files_trouble = sys::unpacked_error(received.bytes);
        break;
      case RecordMessage::RecordTrouble:
        written.record_trouble = sys::unpacked_error(received.bytes);
        break;
      case RecordMessage::Closed:
        written.dropped_rows = std::strtoull(std::string(received.bytes).c_str(), nullptr, 10);
        waitpid(worker_.pid(), nullptr, 0);
        return written;
      default:
        return fail(worker_.why_ended());
    }
  }
}

}  // namespace chokepoint::capture
