#include "probe/rpc/engine.h"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/control/deadlines.h"
#include "base/control/limits.h"
#include "base/math/units.h"
#include "base/sys/clock.h"

namespace chokepoint::probe::rpc {
namespace {

constexpr std::size_t kReceiveBytes = std::size_t{256} << 10;
constexpr std::int64_t kTickNs = std::chrono::nanoseconds(control::kTick).count();
constexpr int kEventsAtOnce = 64;

// What an event is about: a caller's index, an answerer's above, or neither.
constexpr std::uint64_t kAnswerers = std::uint64_t{1} << 32;
constexpr std::uint64_t kOthers = std::uint64_t{1} << 33;

std::optional<host::CoreTimes> core_times(const sys::Root& root) {
  Result<host::CoreTimes> cores = host::read_core_times(root);
  return cores ? std::optional(*std::move(cores)) : std::nullopt;
}

double seconds_of(std::int64_t ns) { return static_cast<double>(ns) / math::kNsPerSecond; }

}  // namespace

Engine::Engine(const Parameters& parameters, tcp::Payload payload, sys::Root root,
               sys::Descriptor epoll)
    : parameters_(parameters),
      payload_(std::move(payload)),
      root_(std::move(root)),
      epoll_(std::move(epoll)),
      buffer_(kReceiveBytes) {}

Result<std::unique_ptr<Engine>> Engine::make(std::vector<sys::Descriptor> calls,
                                             std::vector<sys::Descriptor> answers,
                                             const Parameters& parameters, sys::Root root) {
  sys::Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) {
    return fail(from_errno(errno, "prepare", "calls"));
  }
  TRY(tcp::Payload payload, tcp::Payload::make());
  std::unique_ptr<Engine> engine(
      new Engine(parameters, std::move(payload), std::move(root), std::move(epoll)));
  const std::span<const std::byte> bytes = engine->payload_.bytes();
  const auto room = static_cast<std::size_t>(parameters.outstanding);
  for (sys::Descriptor& fd : calls) {
    TRY(engine->add_to_epoll(fd.get(), engine->callers_.size()));
    engine->callers_.push_back(
        {.wire =
             Wire(std::move(fd), {.out = parameters.request_bytes, .in = parameters.response_bytes},
                  bytes, engine->requests_),
         .started = Moments(room),
         .due = Moments(room)});
  }
  for (sys::Descriptor& fd : answers) {
    TRY(engine->add_to_epoll(fd.get(), kAnswerers + engine->answerers_.size()));
    engine->answerers_.push_back(
        {.wire =
             Wire(std::move(fd), {.out = parameters.response_bytes, .in = parameters.request_bytes},
                  bytes, engine->answers_),
         .arrived = Moments(room)});
  }
  return engine;
}

Result<> Engine::add_to_epoll(int fd, std::uint64_t number) const {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = number}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) < 0) {
    return fail(from_errno(errno, "watch", "connection"));
  }
  return {};
}

Result<> Engine::watch(int fd) { return fd < 0 ? Result<>{} : add_to_epoll(fd, kOthers); }

template <class Visit>
void Engine::each_wire(Visit visit) {
  for (Caller& caller : callers_) {
    visit(caller.wire);
  }
  for (Answerer& answerer : answerers_) {
    visit(answerer.wire);
  }
}

Result<> Engine::begin(OnInterval on_interval, std::chrono::nanoseconds interval) {
  on_interval_ = std::move(on_interval);
  interval_ = interval;
  each_wire([](Wire& wire) { wire.meter().begin(wire.descriptor()); });
  cores_before_ = core_times(root_);
  cpu_before_ns_ = sys::thread_cpu_ns();
  begun_ns_ = tcp::monotonic_ns();
  last_answer_ns_ = begun_ns_;
  interval_began_ns_ = begun_ns_;
  moved_ns_ = begun_ns_;
  next_tick_ns_ = begun_ns_ + kTickNs;
  if (!answerers_.empty()) {
    return {};
  }
  for (Caller& caller : callers_) {
    while (!caller.due.is_full()) {
      caller.due.push(begun_ns_);
    }
  }
  return call_all_due();
}

void Engine::end() {
  if (ended_ns_ != 0) {
    return;
  }
  ended_ns_ = tcp::monotonic_ns();
  cpu_ns_ = sys::thread_cpu_ns() - cpu_before_ns_;
  cores_after_ = core_times(root_);
  each_wire([](Wire& wire) { wire.meter().end(wire.descriptor()); });
  end_interval(ended_ns_);
}

void Engine::call(Caller& caller, std::int64_t now_ns) {
  caller.started.push(now_ns);
  caller.wire.queue(1);
  ++outstanding_;
}

void Engine::call_if_due(Caller& caller, std::int64_t now_ns) {
  is_over_ = is_over_ || now_ns - begun_ns_ >= parameters_.time.count();
  while (!is_over_ && !caller.due.is_empty() && caller.due.first() <= now_ns) {
    caller.due.pop();
    call(caller, now_ns);
  }
}

Result<> Engine::call_all_due() {
  for (std::size_t i = 0; i < callers_.size(); ++i) {
    const std::uint64_t before = outstanding_;
    call_if_due(callers_[i], tcp::monotonic_ns());
    if (outstanding_ > before) {
      TRY(flush(callers_[i], i));
    }
  }
  return {};
}

std::int64_t Engine::next_due_ns() const {
  std::int64_t next = INT64_MAX;
  for (const Caller& caller : callers_) {
    next = is_over_ || caller.due.is_empty() ? next : std::min(next, caller.due.first());
  }
  return next;
}

// The longest of epoll's own waits are whole milliseconds.
void Engine::sleep(std::int64_t ns) const {
  pollfd watched{epoll_.get(), POLLIN, 0};
  const timespec timeout = sys::timespec_of(ns);
  ppoll(&watched, 1, &timeout, nullptr);
}

Result<bool> Engine::turn() {
  constexpr std::int64_t kMsInNs = 1'000'000;
  std::array<epoll_event, kEventsAtOnce> events{};
  const std::int64_t before = tcp::monotonic_ns();
  std::int64_t wait = kTickNs;
  const bool has_pauses = parameters_.pause.count() > 0;
  if (has_pauses) {
    wait = std::clamp<std::int64_t>(next_due_ns() - before, 0, wait);
    sleep(wait);
  }
  const int count = epoll_wait(epoll_.get(), events.data(), kEventsAtOnce,
                               has_pauses ? 0 : static_cast<int>(wait / kMsInNs));
  const std::int64_t now = tcp::monotonic_ns();
  waited_ns_ += ended_ns_ == 0 ? now - before : 0;
  if (count < 0 && errno != EINTR) {
    return fail(from_errno(errno, "wait for", "calls"));
  }
  bool has_news = false;
  for (int i = 0; i < count; ++i) {
    TRY(const bool is_elsewhere, handle(events.at(static_cast<std::size_t>(i)).data.u64));
    has_news = has_news || is_elsewhere;
  }
  if (has_pauses) {
    TRY(call_all_due());
  }
  if (now >= next_tick_ns_) {
    tick(now);
    has_news = true;
  }
  return has_news;
}

// True where it is neither a caller's nor an answerer's.
Result<bool> Engine::handle(std::uint64_t number) {
  if (number >= kOthers) {
    return true;
  }
  TRY(number >= kAnswerers ? handle_answerer(number - kAnswerers) : handle_caller(number));
  return false;
}

Result<> Engine::watch_for_room(const Wire& wire, bool& watches, std::uint64_t number) const {
  if (wire.has_more_to_send() == watches) {
    return {};
  }
  watches = !watches;
  epoll_event event{.events = watches ? EPOLLIN | EPOLLOUT : EPOLLIN, .data = {.u64 = number}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, wire.descriptor(), &event) < 0) {
    return fail(from_errno(errno, "watch", "connection"));
  }
  return {};
}

Result<> Engine::flush(Caller& caller, std::size_t index) {
  TRY(caller.wire.flush());
  return watch_for_room(caller.wire, caller.watches_room, index);
}

Result<> Engine::flush(Answerer& answerer, std::size_t index) {
  TRY(const std::uint64_t begun, answerer.wire.flush());
  if (begun > 0) {
    const std::int64_t now = tcp::monotonic_ns();
    for (std::uint64_t i = 0; i < begun; ++i) {
      held_ns_.add(static_cast<std::uint64_t>(now - answerer.arrived.pop()));
    }
  }
  return watch_for_room(answerer.wire, answerer.watches_room, kAnswerers + index);
}

void Engine::note_latency(std::int64_t ns) {
  latency_ns_.add(static_cast<std::uint64_t>(ns));
  ++interval_calls_;
  interval_sum_ns_ += static_cast<double>(ns);
  interval_max_ns_ = std::max(interval_max_ns_, ns);
}

Result<> Engine::handle_caller(std::size_t index) {
  Caller& caller = callers_[index];
  TRY(const std::uint64_t answered, caller.wire.receive(buffer_));
  const std::int64_t now = tcp::monotonic_ns();
  for (std::uint64_t i = 0; i < answered; ++i) {
    if (caller.started.is_empty()) {
      return fail(ErrorKind::Malformed, "call", "", "more answers came than there were calls");
    }
    note_latency(now - caller.started.pop());
    --outstanding_;
    if (answerers_.empty()) {
      caller.due.push(now + parameters_.pause.count());
    }
  }
  if (answered > 0) {
    last_answer_ns_ = now;
  }
  if (answered > 0 && !answerers_.empty()) {
    answerers_[index].wire.queue(answered);
    TRY(flush(answerers_[index], index));
  }
  call_if_due(caller, now);
  return flush(caller, index);
}

Result<> Engine::handle_answerer(std::size_t index) {
  Answerer& answerer = answerers_[index];
  TRY(const std::uint64_t taken, answerer.wire.receive(buffer_));
  const std::int64_t now = tcp::monotonic_ns();
  for (std::uint64_t i = 0; i < taken; ++i) {
    if (answerer.arrived.is_full()) {
      return fail(ErrorKind::Malformed, "answer", "",
                  "more calls came at once than were agreed on");
    }
    answerer.arrived.push(now);
    if (callers_.empty()) {
      answerer.wire.queue(1);
    } else {
      call(callers_[index], now);
    }
  }
  taken_ += taken;
  if (taken > 0 && !callers_.empty()) {
    TRY(flush(callers_[index], index));
  }
  return flush(answerer, index);
}

void Engine::tick(std::int64_t now_ns) {
  next_tick_ns_ = now_ns + kTickNs;
  progress_ = 0;
  each_wire([&](Wire& wire) {
    progress_ += wire.moved_bytes();
    if (const Result<net::TcpInfo> info = net::read_tcp_info(wire.descriptor())) {
      wire.meter().look(*info);
      progress_ += info->bytes_acknowledged.value_or(0);
    }
  });
  if (outstanding_ == 0 || progress() != seen_progress_) {
    moved_ns_ = now_ns;
  }
  seen_progress_ = progress();
  if (interval_.count() > 0 && now_ns - interval_began_ns_ >= interval_.count()) {
    end_interval(now_ns);
  }
}

void Engine::end_interval(std::int64_t now_ns) {
  if (!on_interval_ || (interval_calls_ == 0 && outstanding_ == 0)) {
    return;
  }
  Interval interval{.start_s = seconds_of(interval_began_ns_ - begun_ns_),
                    .end_s = seconds_of(now_ns - begun_ns_),
                    .calls = interval_calls_};
  if (interval_calls_ > 0) {
    interval.mean_ms = interval_sum_ns_ / static_cast<double>(interval_calls_) / math::kNsPerMs;
    interval.max_ms = static_cast<double>(interval_max_ns_) / math::kNsPerMs;
  }
  if (intervals_.size() < control::kMaxIntervalsKept) {
    intervals_.push_back(interval);
  }
  interval_began_ns_ = now_ns;
  interval_calls_ = 0;
  interval_sum_ns_ = 0;
  interval_max_ns_ = 0;
  on_interval_(interval);
}

std::chrono::nanoseconds Engine::stalled() const {
  return std::chrono::nanoseconds(outstanding_ == 0 ? 0 : tcp::monotonic_ns() - moved_ns_);
}

double Engine::duration_s() const { return seconds_of(last_answer_ns_ - begun_ns_); }

std::chrono::nanoseconds Engine::since_begin() const {
  return std::chrono::nanoseconds(tcp::monotonic_ns() - begun_ns_);
}

Hop Engine::calls() const {
  return {.calls = latency_ns_.count(),
          .latency_ms = spread_of(latency_ns_),
          .requests = requests_.measure()};
}

Worker Engine::answers() const {
  return {.calls = taken_,
          .held_ms = spread_of(held_ns_),
          .answers = answers_.measure(),
          .host = host()};
}

HostMeasure Engine::host() const {
  const auto all = static_cast<double>(ended_ns_ - begun_ns_);
  if (ended_ns_ == 0 || all <= 0) {
    return {};
  }
  HostMeasure host{
      .cpu_percent = math::kPercent * static_cast<double>(cpu_ns_) / all,
      .busy_percent = math::kPercent * std::max(0.0, 1 - static_cast<double>(waited_ns_) / all)};
  const auto cores =
      cores_before_ && cores_after_ ? host::busiest(*cores_before_, *cores_after_) : std::nullopt;
  if (cores) {
    host.softirq_percent = cores->softirq_percent;
  }
  return host;
}

}  // namespace chokepoint::probe::rpc
