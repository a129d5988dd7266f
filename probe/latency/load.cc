#include "probe/latency/load.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "base/control/deadlines.h"
#include "base/math/statistics.h"
#include "base/math/units.h"
#include "base/net/socket.h"
#include "base/sys/thread.h"
#include "probe/latency/frames.h"

namespace chokepoint::probe::latency {
namespace {

using net::Deadline;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Foreign probes on their way at a time: with more of them the server's acceptor would close
// those of one source (control::AcceptorOptions).
constexpr int kMaxProbers = 32;

double in_ms(nanoseconds time) { return static_cast<double>(time.count()) / math::kNsPerMs; }

void keep_last_rate(std::deque<double>& rates, double rate) {
  rates.push_back(rate);
  if (rates.size() > kMovingAverage) {
    rates.pop_front();
  }
}

std::optional<double> mean_rate(const std::deque<double>& rates) {
  const std::vector<double> values(rates.begin(), rates.end());
  return math::mean(values);
}

// Probes of both kinds take turns: half of the time between two pairs.
std::optional<nanoseconds> gap_at(double pairs_per_second) {
  return pairs_per_second > 0 ? std::optional(std::chrono::duration_cast<nanoseconds>(
                                    std::chrono::duration<double>(0.5 / pairs_per_second)))
                              : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<Load>> Load::start(const control::Client& client, const LoadPlan& plan) {
  sys::Descriptor stopped(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stopped) {
    return fail(from_errno(errno, "start load", "event"));
  }
  std::unique_ptr<Load> load(new Load(client, plan, std::move(stopped)));
  TRY(load->conductor_, sys::start_thread("load", [&self = *load] { self.conduct(); }));
  return load;
}

Load::~Load() { stop(); }

void Load::stop() {
  const std::uint64_t one = 1;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    std::ignore = write(stopped_.get(), &one, sizeof(one));
    for (Connection& connection : connections_) {
      if (connection.carrier) {
        connection.carrier->stop();
      }
    }
  }
  wake_.notify_all();
  probing_.notify_all();
  if (conductor_.joinable()) {
    conductor_.join();
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) {
      thread.join();
    }
  }
}

LoadResult Load::result() {
  const std::lock_guard lock(mutex_);
  LoadResult result = result_;
  if (!result.responsiveness.rpm) {
    const ProbeTimes times = recent();
    result.responsiveness = responsiveness_of(times);
    result.path_p90_ms = path_p90_ms(times);
  }
  result.responsiveness.goodput_confidence = goodput_saturation_.confidence();
  result.responsiveness.confidence = responsiveness_saturation_.confidence();
  result.responsiveness.failed_probes = failed_probes_;
  result.send_mbps = mean_rate(sent_mbps_);
  result.receive_mbps = mean_rate(received_mbps_);
  return result;
}

void Load::conduct() {
  std::unique_lock lock(mutex_);
  grow();
  Clock::time_point looked = begun_;
  Clock::time_point next_look = begun_ + plan_.interval;
  Clock::time_point next_probe = Clock::time_point::max();
  bool is_foreign_next = true;
  while (!stopping_) {
    const auto gap = gap_at(probes_per_second_);
    wake_.wait_until(lock, gap ? std::min(next_look, next_probe) : next_look,
                     [&] { return stopping_.load(); });
    const Clock::time_point now = Clock::now();
    if (now >= next_probe && gap) {
      is_foreign_next ? want_foreign() : ask_self();
      is_foreign_next = !is_foreign_next;
      next_probe = std::max(next_probe + *gap, now);
    }
    if (now >= next_look && !stopping_) {
      look(std::chrono::duration<double>(now - looked).count());
      looked = now;
      next_look = std::max(next_look + plan_.interval, now);
      if (stage_ == Stage::Probing && next_probe == Clock::time_point::max()) {
        next_probe = now;
      }
      grow();
    }
  }
}

void Load::grow() {
  for (const bool sends : {true, false}) {
    const bool is_wanted = sends ? plan_.sends : plan_.receives;
    const auto count = std::ranges::count(connections_, sends, &Connection::sends);
    if (is_wanted && count < plan_.max_connections && stage_ != Stage::Done) {
      add_connection(sends);
    }
  }
}

void Load::add_connection(bool sends) {
  Connection& connection = connections_.emplace_back();
  connection.sends = sends;
  start_thread("load connection", [this, &connection, stream = next_stream_++] {
    run_connection(connection, stream);
  });
}

void Load::start_thread(const char* name, std::move_only_function<void()> body) {
  Result<std::thread> thread = sys::start_thread(name, std::move(body));
  if (thread) {
    threads_.push_back(*std::move(thread));
  } else if (!result_.error) {
    result_.error = thread.error();
    stage_ = Stage::Done;
  }
}

void Load::run_connection(Connection& connection, int stream) {
  const Result<> carried = carry(connection, stream);
  {
    const std::lock_guard lock(mutex_);
    connection.is_running = false;
  }
  if (!carried) {
    fail_with(carried.error());
  }
}

Result<> Load::carry(Connection& connection, int stream) {
  net::SocketOptions options;
  options.congestion = plan_.congestion;
  options.no_delay = true;
  TRY(sys::Descriptor fd,
      client_.attach(stream, options, Deadline::of(control::kConnect, stopped_.get())));
  TRY(std::unique_ptr<Carrier> carrier,
      Carrier::make(std::move(fd), connection.sends ? Fills::Yes : Fills::Peer,
                    [this](const SelfTime& time) {
                      const std::lock_guard lock(mutex_);
                      intervals_.back().self.push_back(time);
                    }));
  Carrier& running = *carrier;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      return {};
    }
    connection.carrier = std::move(carrier);
    connection.is_running = true;
    ++result_.connections;
  }
  TRY(running.run());
  return fail(ErrorKind::Refused, "load", client_.peer().text(), "it closed a connection");
}

// Errors after stop() come from the interruption and are ignored.
void Load::fail_with(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (!stopping_ && !result_.error) {
    result_.error = error;
    stage_ = Stage::Done;
  }
}

void Load::want_foreign() {
  if (probers_ - busy_probers_ <= probes_wanted_ && probers_ < kMaxProbers) {
    ++probers_;
    start_thread("foreign probe", [this] { run_prober(); });
  }
  // Where all are on their way one less is sent, rather than one later.
  if (probers_ - busy_probers_ > probes_wanted_) {
    ++probes_wanted_;
    probing_.notify_one();
  }
}

void Load::run_prober() {
  std::unique_lock lock(mutex_);
  while (true) {
    probing_.wait(lock, [&] { return stopping_ || probes_wanted_ > 0; });
    if (stopping_) {
      return;
    }
    --probes_wanted_;
    ++busy_probers_;
    lock.unlock();
    const Result<ForeignTime> time = probe_foreign(next_probe_++);
    lock.lock();
    --busy_probers_;
    if (time) {
      intervals_.back().foreign.push_back(*time);
    } else if (!stopping_) {
      ++failed_probes_;
    }
  }
}

Result<ForeignTime> Load::probe_foreign(int stream) const {
  const Deadline deadline = Deadline::of(control::kConnect, stopped_.get());
  const std::string peer = client_.peer().text();
  TRY(const control::Opened opened,
      client_.attach_anew(stream, bytes_of({.type = FrameType::Get, .number = 1}), deadline));
  ObjectBytes object{};
  TRY(net::receive_all(opened.fd.get(), object, deadline, peer));
  TRY(const FrameHead head, head_in(std::span(object).first<kHeadBytes>()));
  if (head.type != FrameType::Object) {
    return fail(ErrorKind::Malformed, "probe", peer, "something else came than was asked for");
  }
  return ForeignTime{.tcp_ms = in_ms(opened.connecting),
                     .handshake_ms = in_ms(opened.agreeing),
                     .request_ms = in_ms(Clock::now() - opened.asked)};
}

void Load::ask_self() {
  std::vector<Carrier*> running;
  for (const Connection& connection : connections_) {
    if (connection.is_running) {
      running.push_back(connection.carrier.get());
    }
  }
  if (!running.empty()) {
    std::uniform_int_distribution<std::size_t> any(0, running.size() - 1);
    running[any(random_)]->ask();
  }
}

void Load::look(double seconds) {
  double sent = 0;
  double received = 0;
  for (Connection& connection : connections_) {
    if (!connection.carrier) {
      continue;
    }
    const std::uint64_t bytes = connection.sends
                                    ? connection.carrier->acknowledged_bytes().value_or(0)
                                    : connection.carrier->received_bytes();
    // A connection that has failed reports less than before.
    const std::uint64_t news = bytes - std::min(bytes, std::exchange(connection.counted, bytes));
    (connection.sends ? sent : received) += math::mbps(static_cast<double>(news), seconds);
  }
  if (plan_.sends) {
    keep_last_rate(sent_mbps_, sent);
  }
  if (plan_.receives) {
    keep_last_rate(received_mbps_, received);
  }
  const double narrower = !plan_.receives ? sent
                          : !plan_.sends  ? received
                                          : std::min(sent, received);
  probes_per_second_ = probes_per_second(narrower * 1e6);
  if (stage_ == Stage::Filling) {
    look_at_goodput(sent + received);
  } else if (stage_ == Stage::Probing) {
    look_at_responsiveness();
  }
}

void Load::look_at_goodput(double mbps) {
  if (const std::optional<double> average = goodput_.add(mbps)) {
    goodput_saturation_.add(*average);
  }
  if (goodput_saturation_.is_reached() || Clock::now() - begun_ >= plan_.time / 2) {
    stage_ = Stage::Probing;
  }
}

void Load::look_at_responsiveness() {
  const ProbeTimes times = recent();
  const Responsiveness now = responsiveness_of(times);
  if (now.rpm) {
    result_.responsiveness = now;
    result_.path_p90_ms = path_p90_ms(times);
    responsiveness_saturation_.add(*now.rpm);
  }
  if (responsiveness_saturation_.is_reached()) {
    stage_ = Stage::Done;
    return;
  }
  intervals_.emplace_back();
  if (intervals_.size() > kMovingAverage) {
    intervals_.pop_front();
  }
}

ProbeTimes Load::recent() const {
  ProbeTimes all;
  for (const ProbeTimes& interval : intervals_) {
    all.foreign.insert(all.foreign.end(), interval.foreign.begin(), interval.foreign.end());
    all.self.insert(all.self.end(), interval.self.begin(), interval.self.end());
  }
  return all;
}

}  // namespace chokepoint::probe::latency
