#include "probe/collective/launch/children.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <thread>

#include "base/sys/descriptor.h"

namespace chokepoint::probe::collective {
namespace {

constexpr std::chrono::milliseconds kGrace{2000};
constexpr std::chrono::milliseconds kPollInterval{20};
constexpr std::size_t kMaxKept = 4096;
constexpr std::size_t kMaxLineLength = 400;

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  text.erase(0, text.rfind('\n') + 1);
  constexpr std::string_view kOwn = "chokepoint: probe collective: ";
  if (text.starts_with(kOwn)) {
    text.erase(0, kOwn.size());
  }
  return text.substr(0, kMaxLineLength);
}

Result<sys::Pipe> open_words() {
  Result<sys::Pipe> pipe = sys::open_pipe("start", "rank");
  if (pipe) {
    fcntl(pipe->read.get(), F_SETFL, O_NONBLOCK);
  }
  return pipe;
}

}  // namespace

Error error_of(const ChildEnd& end) {
  std::string reason = end.status.signal != 0
                           ? fmt::format("was ended by signal {}", end.status.signal)
                           : fmt::format("exited with {}", end.status.code);
  if (!end.words.empty()) {
    reason += ": " + end.words;
  }
  return {ErrorKind::Io, "", "", 0, std::move(reason)};
}

void report(const ChildEnd& end, Hub& hub) {
  const bool died = end.status.signal != 0;
  if (died || (end.status.code != 0 && !hub.has(end.rank))) {
    hub.fail({.rank = end.rank, .error = error_of(end), .source = FailureSource::ProcessEnded});
  }
}

Result<> Children::start(const std::vector<std::string>& command, const RankPlacement& placement,
                         int local_ranks) {
  const sys::Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  sys::Spawn spawn{.command = command,
                   .environment = variables_of(placement),
                   .in = nothing.get(),
                   .out = STDERR_FILENO};
  spawn.environment.emplace_back("LOCAL_WORLD_SIZE", std::to_string(local_ranks));
  TRY(sys::Pipe words, keep_words_ ? open_words() : sys::Pipe{});
  if (keep_words_) {
    spawn.out = spawn.err = words.write.get();
  }
  TRY(sys::Process process, sys::Process::start(spawn));
  children_.push_back({.rank = placement.position.rank,
                       .process = std::move(process),
                       .words = std::move(words.read)});
  return {};
}

void Children::read_words(Child& child) {
  std::array<char, 1024> piece{};
  while (child.words) {
    const ssize_t got = read(child.words.get(), piece.data(), piece.size());
    if (got <= 0) {
      return;
    }
    child.text.append(piece.data(), static_cast<std::size_t>(got));
    if (child.text.size() > kMaxKept) {
      child.text.erase(0, child.text.size() - kMaxKept);
    }
  }
}

Result<std::vector<ChildEnd>> Children::ended() {
  std::vector<ChildEnd> ends;
  for (auto child = children_.begin(); child != children_.end();) {
    TRY(const std::optional<sys::ExitStatus> status, child->process.poll());
    read_words(*child);
    if (!status) {
      ++child;
      continue;
    }
    ends.push_back({.rank = child->rank, .status = *status, .words = last_line(child->text)});
    child = children_.erase(child);
  }
  return ends;
}

Result<> Children::report_failed(Hub& hub) {
  TRY(const std::vector<ChildEnd> ends, ended());
  for (const ChildEnd& end : ends) {
    report(end, hub);
  }
  return {};
}

// All children together have kGrace to end by themselves.
Children::~Children() {
  for (const Child& child : children_) {
    std::ignore = child.process.signal(SIGTERM);
  }
  const auto deadline = std::chrono::steady_clock::now() + kGrace;
  while (!children_.empty() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kPollInterval);
    if (!ended()) {
      break;
    }
  }
  for (const Child& child : children_) {
    sys::end_tree(child.process.pid(), {}, sys::Root("/"), clock_);
  }
}

}  // namespace chokepoint::probe::collective
