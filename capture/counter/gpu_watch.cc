#include "capture/counter/gpu_watch.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace chokepoint::capture::counter {

namespace {

// How long the end waits for the watch's thread: a driver that replies at all has replied by then.
constexpr std::chrono::seconds kEndTimeout(2);

}  // namespace

struct GpuWatch::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  const sys::Clock* clock = nullptr;  // may be gone once is_stopping
  bool is_stopping = false;
  bool has_ended = false;
  std::optional<GpuReadings> newest;
  std::optional<Error> problem;
};

GpuWatch::GpuWatch(Open open, std::chrono::nanoseconds interval, const sys::Clock& clock)
    : shared_(std::make_shared<Shared>()) {
  shared_->clock = &clock;
  std::thread([shared = shared_, open = std::move(open), interval] {
    run(shared, open, interval);
    const std::scoped_lock lock(shared->mutex);
    shared->has_ended = true;
    shared->changed.notify_all();
  }).detach();
}

void GpuWatch::run(const std::shared_ptr<Shared>& shared, const Open& open,
                   std::chrono::nanoseconds interval) {
  Result<std::unique_ptr<GpuSession>> session = open();
  std::unique_lock lock(shared->mutex);
  if (!session) {
    shared->problem = session.error();
    return;
  }
  while (!shared->is_stopping) {
    lock.unlock();
    std::vector<GpuReading> gpus = (*session)->read();
    lock.lock();
    if (!shared->is_stopping) {
      shared->newest = {shared->clock->monotonic_ns(), std::move(gpus)};
      shared->changed.wait_for(lock, interval, [&] { return shared->is_stopping; });
    }
  }
  lock.unlock();
  session->reset();
}

GpuWatch::~GpuWatch() {
  std::unique_lock lock(shared_->mutex);
  shared_->is_stopping = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kEndTimeout, [&] { return shared_->has_ended; });
}

std::optional<GpuReadings> GpuWatch::newest() {
  const std::scoped_lock lock(shared_->mutex);
  return std::exchange(shared_->newest, std::nullopt);
}

std::optional<Error> GpuWatch::problem() const {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->problem;
}

}  // namespace chokepoint::capture::counter
