#include "capture/live/metrics.h"

#include <prometheus/exposer.h>

#include <chrono>
#include <exception>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/net/socket.h"
#include "base/sys/signals.h"
#include "capture/live/metric_families.h"
#include "capture/live/metrics_address.h"
#include "capture/live/pipe_signal.h"

namespace chokepoint::capture::live {
namespace {

// The newest figures, turned into samples whenever somebody asks.
class Newest final : public prometheus::Collectable {
 public:
  void update(const Figures& figures) {
    Figures copy = figures;
    const std::lock_guard lock(mutex_);
    std::swap(figures_, copy);
  }
  std::vector<prometheus::MetricFamily> Collect() const override { return families_of(newest()); }

 private:
  Figures newest() const {
    const std::lock_guard lock(mutex_);
    return figures_;
  }

  mutable std::mutex mutex_;  // figures_
  Figures figures_ = {};
};

// The library's listening thread looks only every two seconds whether it shall end, unless somebody
// knocks; a job's end does not wait for that.
void stop(std::unique_ptr<prometheus::Exposer> exposer, const net::Endpoint& knock_at) {
  const std::jthread knocking([&](const std::stop_token& ended) {
    constexpr std::chrono::milliseconds kPause{5};
    while (!ended.stop_requested()) {
      (void)net::connect(knock_at, {}, net::Patience::of(kPause));
      std::this_thread::sleep_for(kPause);
    }
  });
  exposer.reset();
}

class ServedMetrics final : public Metrics {
 public:
  explicit ServedMetrics(const net::Endpoint& endpoint)
      : endpoint_(endpoint),
        exposer_(std::make_unique<prometheus::Exposer>(endpoint.text(), kThreads)) {
    exposer_->RegisterCollectable(newest_);
  }
  ServedMetrics(const ServedMetrics&) = delete;
  ServedMetrics& operator=(const ServedMetrics&) = delete;
  ~ServedMetrics() override {
    endpoint_.port = static_cast<std::uint16_t>(port());
    stop(std::move(exposer_), endpoint_);
  }

  void update(const Figures& figures) override { newest_->update(figures); }
  int port() const override { return exposer_->GetListeningPorts().front(); }

 private:
  static constexpr std::size_t kThreads = 2;  // one waits for a slow client, the other serves

  PipeSignalKept pipe_signal_;
  net::Endpoint endpoint_;
  std::shared_ptr<Newest> newest_ = std::make_shared<Newest>();
  std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace

Result<> Metrics::check(const std::string& address) {
  const auto endpoint = parse_metrics_address(address);
  return endpoint ? try_to_listen(*endpoint) : fail(endpoint.error());
}

Result<std::unique_ptr<Metrics>> Metrics::serve(const std::string& address) {
  TRY(const auto endpoint, parse_metrics_address(address));
  // The library only tells that it failed.
  TRY(try_to_listen(endpoint));
  const sys::SignalsHeld held;
  try {
    return std::make_unique<ServedMetrics>(endpoint);
  } catch (const std::exception& exception) {
    return fail(ErrorKind::Io, "--metrics", address, exception.what());
  }
}

}  // namespace chokepoint::capture::live
