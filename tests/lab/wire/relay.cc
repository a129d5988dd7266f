#include "tests/lab/wire/relay.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>

#include <nlohmann/json.hpp>

namespace chokepoint::lab {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

nlohmann::json document(const Counters& counters, const Obeyed& obeyed) {
  return {{"packets", counters.packets},
          {"bytes", counters.bytes},
          {"dropped_queue", counters.dropped_queue},
          {"dropped_loss", counters.dropped_loss},
          {"dropped_cut", counters.dropped_cut},
          {"dropped_by_order", obeyed.dropped},
          {"duplicated", obeyed.duplicated},
          {"held_back", obeyed.held_back}};
}

Result<> write_line(int fd, std::string line) {
  line += '\n';
  if (write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return fail(from_errno(errno, "answer", line));
  }
  return {};
}

}  // namespace

Relay::Relay(Tap a, Tap b, const WireSettings& settings, const sys::Clock& clock)
    : a_(std::move(a)),
      b_(std::move(b)),
      clock_(clock),
      directions_{Direction(a_, b_, settings.there, settings.seed),
                  Direction(b_, a_, settings.back, settings.seed + 1)} {}

Result<> Relay::prepare() {
  const bool allowed = std::ranges::all_of(directions_, [](const Direction& direction) {
    return allows_super_frames(direction.shaper().settings());
  });
  const auto first = a_.allow_super_frames(allowed);
  return first ? b_.allow_super_frames(allowed) : first;
}

Result<> Relay::run(int commands, int answers) {
  for (;;) {
    bool commanded = false;
    if (!wait(commands, commanded)) {
      return fail(from_errno(errno, "wait", "for frames"));
    }
    relay();
    if (commanded && !hear(commands, answers)) {
      return write_line(answers, counters());
    }
  }
}

bool Relay::wait(int commands, bool& commanded) {
  std::array<pollfd, 3> watched{pollfd{a_.descriptor(), POLLIN, 0},
                                pollfd{b_.descriptor(), POLLIN, 0}, pollfd{commands, POLLIN, 0}};
  std::optional<std::int64_t> due;
  for (const Direction& direction : directions_) {
    if (const auto next = direction.next_due_ns()) {
      due = std::min(due.value_or(*next), *next);
    }
  }
  timespec left{};
  if (due) {
    const std::int64_t nanoseconds = std::max<std::int64_t>(0, *due - clock_.monotonic_ns());
    left = {nanoseconds / kNanosecondsPerSecond, nanoseconds % kNanosecondsPerSecond};
  }
  const int ready = ppoll(watched.data(), watched.size(), due ? &left : nullptr, nullptr);
  commanded = ready > 0 && watched[2].revents != 0;
  return ready >= 0 || errno == EINTR;
}

void Relay::relay() {
  for (Direction& direction : directions_) {
    direction.take(clock_.monotonic_ns());
    direction.release(clock_.monotonic_ns());
  }
}

bool Relay::hear(int commands, int answers) {
  std::array<char, 4096> buffer{};
  const ssize_t got = read(commands, buffer.data(), buffer.size());
  if (got <= 0) {
    return false;
  }
  heard_.append(buffer.data(), static_cast<std::size_t>(got));
  for (auto end = heard_.find('\n'); end != heard_.npos; end = heard_.find('\n')) {
    if (!write_line(answers, obey(std::string_view(heard_).substr(0, end)))) {
      return false;
    }
    heard_.erase(0, end + 1);
  }
  return true;
}

std::string Relay::obey(std::string_view line) {
  auto answer = carry_out(line);
  return answer ? *answer : nlohmann::json{{"error", describe(answer.error())}}.dump();
}

Result<std::string> Relay::carry_out(std::string_view line) {
  const auto space = line.find(' ');
  const std::string_view word = line.substr(0, space);
  const std::string_view rest = space == line.npos ? "" : line.substr(space + 1);
  Result<> done;
  if (word == "counters") {
    return counters();
  }
  if (word == "there" || word == "back") {
    done = change(directions_[word == "there" ? 0 : 1], rest);
  } else if (word == "cut" || word == "mend") {
    cut(word == "cut");
  } else if (word == "unplug" || word == "plug") {
    done = plug(word == "plug");
  } else {
    done = fail(ErrorKind::Usage, "command", word, "no such command");
  }
  return done ? Result<std::string>("{}") : fail(std::move(done.error()));
}

Result<> Relay::change(Direction& direction, std::string_view words) {
  DirectionSettings settings = direction.shaper().settings();
  std::istringstream stream{std::string(words)};
  for (std::string word; stream >> word;) {
    if (auto applied = apply_word(settings, word); !applied) {
      return applied;
    }
  }
  direction.change(settings, clock_.monotonic_ns());
  return prepare();
}

Result<> Relay::plug(bool in) {
  cut(!in);
  const auto first = a_.plugged_in(in);
  return first ? b_.plugged_in(in) : first;
}

void Relay::cut(bool is_cut) {
  for (Direction& direction : directions_) {
    direction.shaper().cut(is_cut);
  }
}

std::string Relay::counters() const {
  const auto told = [](const Direction& direction) {
    return document(direction.shaper().counters(), direction.obeyed());
  };
  return nlohmann::json{{"there", told(directions_[0])}, {"back", told(directions_[1])}}.dump();
}

}  // namespace chokepoint::lab
