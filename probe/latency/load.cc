#include "probe/latency/load.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <cmath>
#include <numeric>

#include "base/sys/thread.h"

namespace chokepoint::probe::latency {
namespace {

using std::chrono::milliseconds;

double mean(const std::deque<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void keep_last(std::deque<double>& values, double value, std::size_t count) {
  values.push_back(value);
  if (values.size() > count) {
    values.pop_front();
  }
}

constexpr milliseconds kInterval{100};
constexpr milliseconds kLookAtRate{500};
constexpr int kLooksToGrow = 2;

}  // namespace

void Stability::add(double value) {
  keep_last(values_, value, kAverages);
  if (values_.size() == kAverages) {
    keep_last(averages_, mean(values_), kAverages);
  }
}

bool Stability::reached() const {
  if (averages_.size() < kAverages) {
    return false;
  }
  const double middle = mean(averages_);
  double squares = 0;
  for (const double average : averages_) {
    squares += (average - middle) * (average - middle);
  }
  const double deviation = std::sqrt(squares / static_cast<double>(kAverages));
  return middle > 0 && deviation <= kWithin * middle;
}

Result<std::unique_ptr<Load>> Load::start(Connect connect, const LoadPlan& plan,
                                          const sys::Root& root) {
  sys::Descriptor stopped(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stopped) {
    return fail(from_errno(errno, "start load", "event"));
  }
  std::unique_ptr<Load> load(new Load(std::move(connect), plan, root, std::move(stopped)));
  TRY(load->grower_, sys::start_thread("load", [&self = *load] { self.grow(); }));
  return load;
}

Load::~Load() { stop(); }

void Load::stop() {
  stopping_ = true;
  const std::uint64_t one = 1;
  std::ignore = write(stopped_.get(), &one, sizeof(one));
  wake_.notify_all();
  if (grower_.joinable()) {
    grower_.join();
  }
  for (std::thread& connection : connections_) {
    if (connection.joinable()) {
      connection.join();
    }
  }
}

LoadResult Load::result() {
  const std::lock_guard lock(mutex_);
  return result_;
}

void Load::grow() {
  add_connection();
  for (int look = 1; !stopping_; ++look) {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, kLookAtRate, [&] { return stopping_.load(); });
    const double rate = take_rate(std::chrono::duration<double>(kLookAtRate).count());
    if (stopping_) {
      return;
    }
    stability_.add(rate);
    result_.throughput_mbps = rate;
    result_.stable = stability_.reached();
    const bool enough = result_.stable || result_.error ||
                        std::cmp_greater_equal(connections_.size(), plan_.max_connections);
    lock.unlock();
    if (enough) {
      full_ = true;
    } else if (look % kLooksToGrow == 0) {
      add_connection();
    }
  }
}

void Load::add_connection() {
  Result<std::thread> thread = sys::start_thread("load connection", [this] { run_connection(); });
  if (!thread) {
    fail_with(thread.error());
    return;
  }
  connections_.push_back(*std::move(thread));
}

void Load::run_connection() {
  Result<control::Client> client = connect_(stopped_.get());
  if (!client) {
    fail_with(client.error());
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    ++result_.connections;
  }
  const tcp::Parameters parameters{.direction = plan_.direction,
                                   .time = plan_.time,
                                   .interval = kInterval,
                                   .congestion = plan_.congestion,
                                   .share = true};
  const Result<tcp::Trial> test = tcp::run(
      *client, parameters, root_, stopped_.get(),
      [this](tcp::Side, const tcp::IntervalMeasure& interval) { watch(interval); },
      [](const std::string&) {});
  if (!test) {
    fail_with(test.error());
  }
  client->bye();
}

void Load::watch(const tcp::IntervalMeasure& interval) {
  if (interval.role == tcp::Role::Receive) {
    bytes_ += interval.bytes;
  } else if (interval.rtt_ms && full_) {
    const std::lock_guard lock(mutex_);
    result_.rtt_ms.push_back(*interval.rtt_ms);
  }
}

// Errors after stop() come from the interruption and are ignored.
void Load::fail_with(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (!stopping_ && !result_.error) {
    result_.error = error;
  }
}

double Load::take_rate(double seconds) {
  const std::uint64_t bytes = bytes_;
  const double mbps = static_cast<double>(bytes - bytes_before_) * 8 / seconds / 1e6;
  bytes_before_ = bytes;
  return mbps;
}

}  // namespace chokepoint::probe::latency
