#include "preflight/launch/children.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <utility>

namespace chokepoint::preflight {
namespace {

constexpr std::size_t kMaxLineBytes = 4096;
constexpr int kTermGraceMs = 5000;
constexpr int kKillGraceMs = 1000;

// Takes whole lines off the text; what is left is an unfinished one. Of an endless one its
// beginning is a line.
template <class Print>
void take_lines(std::string& text, bool is_all, Print printed) {
  std::size_t at = 0;
  for (std::size_t end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    printed(std::string_view(text).substr(at, end - at));
  }
  text.erase(0, at);
  if (text.size() > kMaxLineBytes || (is_all && !text.empty())) {
    printed(std::string_view(text));
    text.clear();
  }
}

}  // namespace

Result<> Children::start_held(Who who, sys::Spawn spawn, const std::string& first_line) {
  // No child but the one that it is for inherits an end: a leash in a sibling's hand holds nothing.
  TRY(sys::Pipe held, sys::open_pipe("launch", "a pipe"));
  const std::string line = first_line + "\n";
  // Before the child is there: a pipe takes this much at once, and no reader can be gone yet.
  if (write(held.write.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return fail(from_errno(errno, "launch", "a pipe"));
  }
  spawn.in = held.read.get();
  return add(who, std::move(spawn), std::move(held.write));
}

Result<> Children::start(Who who, sys::Spawn spawn) { return add(who, std::move(spawn), {}); }

Result<> Children::add(Who who, sys::Spawn spawn, sys::Descriptor held) {
  TRY(sys::ChildOutput output,
      sys::start_child(std::move(spawn), "launch", sys::ChildStreams::Joined));
  children_.insert_or_assign(who, Child{std::move(output), std::move(held), {}});
  return {};
}

std::vector<Children::Who> Children::await(const std::vector<int>& others, int timeout_ms) const {
  std::vector<pollfd> list;
  std::vector<Who> whose;
  for (const auto& [who, child] : children_) {
    list.push_back({child.output.out.descriptor(), POLLIN, 0});
    list.push_back({child.output.process.descriptor(), POLLIN, 0});
    whose.push_back(who);
  }
  for (const int other : others) {
    list.push_back({other, POLLIN, 0});
  }
  std::vector<Who> ready;
  if (::poll(list.data(), list.size(), timeout_ms) > 0) {
    for (std::size_t i = 0; i < whose.size(); ++i) {
      if (list[2 * i].revents != 0 || list[2 * i + 1].revents != 0) {
        ready.push_back(whose[i]);
      }
    }
  }
  return ready;
}

void Children::look_at(Who who, const Listener& listener) {
  const auto found = children_.find(who);
  if (found == children_.end()) {
    return;
  }
  Child& child = found->second;
  // Asked first: what it had printed by its end is then there to be read.
  const Result<std::optional<sys::ExitStatus>> status = child.output.process.poll();
  const bool has_ended = !status || status->has_value();
  child.output.out.take(child.unfinished, SIZE_MAX);
  take_lines(child.unfinished, child.output.out.descriptor() < 0 || has_ended,
             [&](std::string_view line) { listener.printed(who, line); });
  if (has_ended) {
    children_.erase(found);
    listener.ended(who, status ? **status : sys::ExitStatus{});
  }
}

void Children::poll(const std::vector<int>& others, int timeout_ms, const Listener& listener) {
  for (const Who who : await(others, timeout_ms)) {
    look_at(who, listener);
  }
}

void Children::signal_all(int number) const {
  for (const auto& [who, child] : children_) {
    (void)child.output.process.signal(number);
  }
}

bool Children::await_ends(int timeout_ms, const sys::Clock& clock) {
  const Listener deaf{[](Who, std::string_view) {}, [](Who, const sys::ExitStatus&) {}};
  const std::int64_t deadline = clock.monotonic_ns() + timeout_ms * std::int64_t{1'000'000};
  while (!children_.empty() && clock.monotonic_ns() < deadline) {
    const std::int64_t left = (deadline - clock.monotonic_ns()) / 1'000'000 + 1;
    poll({}, static_cast<int>(left), deaf);
  }
  return children_.empty();
}

void Children::end_all(int grace_ms, const sys::Clock& clock) {
  for (auto& [who, child] : children_) {
    child.input.reset();
  }
  if (await_ends(grace_ms, clock)) {
    return;
  }
  signal_all(SIGTERM);
  if (await_ends(kTermGraceMs, clock)) {
    return;
  }
  signal_all(SIGKILL);
  await_ends(kKillGraceMs, clock);
}

}  // namespace chokepoint::preflight
