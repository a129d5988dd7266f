#include "preflight/agent/child.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/cli/text.h"
#include "base/sys/descriptor.h"
#include "base/sys/process.h"
#include "preflight/task/command.h"

namespace chokepoint::preflight {
namespace {

using control::Json;
using std::chrono::milliseconds;

constexpr milliseconds kGrace{1000};
constexpr std::size_t kMostDocument = std::size_t{4} * 1024 * 1024;
constexpr std::size_t kMostWords = 4096;
constexpr std::size_t kLongestLine = 400;
// As the contract has them.
constexpr int kUsage = 2;
constexpr int kFound = 3;
constexpr int kInterrupted = 130;

Result<sys::Pipe> open_ear() {
  Result<sys::Pipe> pipe = sys::open_pipe("start", "test");
  if (pipe) {
    fcntl(pipe->read.get(), F_SETFL, O_NONBLOCK);
  }
  return pipe;
}

// A key fits into a pipe's buffer whole, so nobody waits for its reader.
Result<sys::Descriptor> input_of(const std::string& key) {
  if (key.empty()) {
    sys::Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
    // Without one it would read what this process reads.
    return nothing ? Result<sys::Descriptor>(std::move(nothing))
                   : fail(from_errno(errno, "start", "test"));
  }
  TRY(sys::Pipe pipe, sys::open_pipe("start", "test"));
  if (write(pipe.write.get(), key.data(), key.size()) != static_cast<ssize_t>(key.size())) {
    return fail(from_errno(errno, "hand over", "key"));
  }
  return std::move(pipe.read);
}

// True where something came. What has ended is closed.
bool read_piece(sys::Descriptor& from, std::string& text) {
  std::array<char, 16384> piece{};
  const ssize_t got = from ? read(from.get(), piece.data(), piece.size()) : -1;
  if (got == 0) {
    from.reset();
  }
  text.append(piece.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return got > 0;
}

std::string last_line(std::string text, std::string_view command) {
  text.erase(text.find_last_not_of('\n') + 1);
  text.erase(0, text.rfind('\n') + 1);
  for (const std::string& start :
       {fmt::format("chokepoint: {}: ", command), std::string("chokepoint: ")}) {
    if (text.starts_with(start)) {
      text.erase(0, start.size());
      break;
    }
  }
  return cli::printable(text.substr(0, kLongestLine));
}

}  // namespace

Result<std::unique_ptr<Job>> Child::start(const Task& task, const ChildOptions& options,
                                          const sys::Clock& clock) {
  Result<sys::Descriptor> in = input_of(options.key);
  Result<sys::Pipe> out = open_ear();
  Result<sys::Pipe> err = open_ear();
  if (!in || !out || !err) {
    return std::unexpected(!in ? in.error() : !out ? out.error() : err.error());
  }
  Result<sys::Process> process =
      sys::Process::start({.command = command_of(task, options.program, !options.key.empty()),
                           .environment = {sys::tie_to_this_process()},
                           .in = in->get(),
                           .out = out->write.get(),
                           .err = err->write.get()});
  if (!process) {
    return std::unexpected(process.error());
  }
  return std::unique_ptr<Job>(new Child(task, options, clock, std::move(*process),
                                        std::move(out->read), std::move(err->read)));
}

Child::Child(const Task& task, const ChildOptions& options, const sys::Clock& clock,
             sys::Process process, sys::Descriptor out, sys::Descriptor err)
    : task_(task),
      longest_(options.longest),
      deadline_(net::Patience::Clock::now() + options.longest),
      clock_(clock),
      process_(std::move(process)),
      out_(std::move(out)),
      err_(std::move(err)) {}

Child::~Child() {
  if (!ended_) {
    sys::end_tree(process_.pid(), kGrace, sys::Root("/"), clock_);
  }
}

std::vector<int> Child::watched() const { return {process_.descriptor(), out_.get(), err_.get()}; }

std::unexpected<Error> Child::failed(ErrorKind kind, const std::string& reason) const {
  return fail(kind, command_name(task_.kind), task_.peer, reason);
}

void Child::read_streams() {
  while (document_.size() <= kMostDocument && read_piece(out_, document_)) {
  }
  while (read_piece(err_, words_)) {
    words_.erase(0, words_.size() - std::min(words_.size(), kMostWords));
  }
}

Result<std::optional<Json>> Child::look() {
  // Asked first: what it wrote before its end is then read whole.
  const Result<std::optional<sys::ExitStatus>> status = process_.poll();
  read_streams();
  if (!status) {
    return std::unexpected(status.error());
  }
  if (document_.size() > kMostDocument) {
    return failed(ErrorKind::Malformed, "its document is larger than any");
  }
  if (*status) {
    ended_ = true;
    Result<Json> document = answer(**status);
    return document ? Result<std::optional<Json>>(std::move(*document))
                    : std::unexpected(document.error());
  }
  if (net::Patience::Clock::now() < deadline_) {
    return std::nullopt;
  }
  std::string reason = fmt::format("was ended after {} s", longest_.count() / 1000);
  if (const std::string said = last_line(words_, command_name(task_.kind)); !said.empty()) {
    reason += "; the last it said: " + said;
  }
  return failed(ErrorKind::Timeout, reason);
}

Result<Json> Child::answer(const sys::ExitStatus& status) const {
  const std::string said = last_line(words_, command_name(task_.kind));
  if (status.signal != 0) {
    return failed(ErrorKind::Io, fmt::format("was ended by signal {}", status.signal));
  }
  if (status.code == kInterrupted) {
    return failed(ErrorKind::Io, "was interrupted on that host");
  }
  const bool is_done = status.code == 0 || status.code == kFound;
  if (!is_done && !said.empty()) {
    return failed(status.code == kUsage ? ErrorKind::Usage : ErrorKind::Io, said);
  }
  Json document = Json::parse(document_, nullptr, false);
  const auto schema = document.is_object() ? document.find("schema") : document.end();
  if (schema == document.end() || !schema->is_string()) {
    return failed(ErrorKind::Malformed,
                  fmt::format("exited with {} and without a document", status.code));
  }
  return document;
}

}  // namespace chokepoint::preflight
