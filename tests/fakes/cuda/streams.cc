// Streams, events and asynchronous copies of the made-up libcuda.so.1, in a time of their own.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/fakes/cuda/state.h"

namespace fake_cuda {
namespace {

constexpr int kTowards = 0;
constexpr int kAway = 1;

double rate(const char* key, double otherwise) { return number("FAKE_CUDA_RATES", key, otherwise); }

bool within(const std::map<std::uint64_t, std::uint64_t>& ranges, std::uint64_t address) {
  auto after = ranges.upper_bound(address);
  return after != ranges.begin() && address < std::prev(after)->first + std::prev(after)->second;
}

// MB/s are bytes a microsecond.
double host_rate(std::uint64_t host, int direction) {
  if (!within(state().pinned, host)) {
    return rate("pageable=", 5000);
  }
  if (within(state().far, host)) {
    return rate("far=", 30000);
  }
  return direction == kTowards ? rate("to=", 50000) : rate("from=", 50000);
}

double& engine(int gpu, int direction) {
  const bool only_one = number("FAKE_CUDA_ENGINES", "", 2) < 2;
  return state().gpus[gpu].engine_free_us[only_one ? kTowards : direction];
}

// Takes the engine when stream and engine are free, and holds both.
void spend(Stream& stream, int gpu, int direction, double bytes, double bytes_a_us) {
  double& free_us = engine(gpu, direction);
  const double start = std::max({stream.now_us, free_us, state().host_us});
  const bool against = engine(gpu, 1 - direction) > start;
  free_us = stream.now_us = start + bytes / bytes_a_us / (against ? rate("both=", 1) : 1);
}

bool flips() {
  const char* text = std::getenv("FAKE_CUDA_FLIP");
  return text != nullptr && ++state().copies % std::max(1L, std::atol(text)) == 0;
}

int usable(const Stream* stream) {
  if (const int code = begin()) {
    return code;
  }
  return stream == nullptr || stream->gpu != current_gpu() ? 400 : 0;
}

}  // namespace
}  // namespace fake_cuda

using fake_cuda::begin;
using fake_cuda::Event;
using fake_cuda::state;
using fake_cuda::Stream;
using fake_cuda::usable;

// The names are CUDA's. NOLINTBEGIN(readability-identifier-naming,performance-no-int-to-ptr)
extern "C" {

int cuStreamCreate(Stream** stream, unsigned /*flags*/) {
  if (const int code = begin()) {
    return code;
  }
  const std::lock_guard lock(state().mutex);
  *stream = new Stream{.gpu = fake_cuda::current_gpu()};
  state().streams.insert(*stream);
  return 0;
}
int cuStreamDestroy_v2(Stream* stream) {
  const std::lock_guard lock(state().mutex);
  state().streams.erase(stream);
  delete stream;
  return 0;
}
int cuStreamSynchronize(Stream* stream) { return usable(stream); }
int cuStreamWaitEvent(Stream* stream, Event* event, unsigned /*flags*/) {
  if (const int code = usable(stream)) {
    return code;
  }
  const std::lock_guard lock(state().mutex);
  stream->now_us = std::max(stream->now_us, event->at_us);
  return 0;
}
int cuEventCreate(Event** event, unsigned /*flags*/) {
  if (const int code = begin()) {
    return code;
  }
  const std::lock_guard lock(state().mutex);
  *event = new Event;
  state().events.insert(*event);
  return 0;
}
int cuEventDestroy_v2(Event* event) {
  const std::lock_guard lock(state().mutex);
  state().events.erase(event);
  delete event;
  return 0;
}
int cuEventRecord(Event* event, Stream* stream) {
  if (const int code = usable(stream)) {
    return code;
  }
  const std::lock_guard lock(state().mutex);
  stream->now_us = std::max(stream->now_us, state().host_us);
  *event = {.recorded = true, .at_us = stream->now_us};
  return 0;
}
int cuEventSynchronize(Event* event) {
  if (const char* nap = std::getenv("FAKE_CUDA_NAP_US")) {
    usleep(static_cast<useconds_t>(std::atol(nap)));
  }
  if (const int code = begin()) {
    return code;
  }
  const std::lock_guard lock(state().mutex);
  state().host_us = std::max(state().host_us, event->at_us);
  return 0;
}
int cuEventQuery(Event* /*event*/) {
  return std::getenv("FAKE_CUDA_BUSY") == nullptr ? begin() : 600;
}
int cuEventElapsedTime(float* milliseconds, Event* start, Event* end) {
  if (const int code = begin()) {
    return code;
  }
  const std::lock_guard lock(state().mutex);
  if (!start->recorded || !end->recorded) {
    return 400;
  }
  *milliseconds = static_cast<float>((end->at_us - start->at_us) / 1000);
  return 0;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes,
                         Stream* stream) {
  if (const int code = usable(stream)) {
    return code;
  }
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  const std::lock_guard lock(state().mutex);
  if (fake_cuda::flips()) {
    reinterpret_cast<unsigned char*>(to)[bytes - 1] ^= 1;
  }
  const auto host = reinterpret_cast<std::uint64_t>(from);
  fake_cuda::spend(*stream, stream->gpu, fake_cuda::kTowards, static_cast<double>(bytes),
                   fake_cuda::host_rate(host, fake_cuda::kTowards));
  return 0;
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t bytes, Stream* stream) {
  if (const int code = usable(stream)) {
    return code;
  }
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  const std::lock_guard lock(state().mutex);
  const auto host = reinterpret_cast<std::uint64_t>(to);
  fake_cuda::spend(*stream, stream->gpu, fake_cuda::kAway, static_cast<double>(bytes),
                   fake_cuda::host_rate(host, fake_cuda::kAway));
  return 0;
}
int cuMemcpyPeerAsync(unsigned long long to, fake_cuda::Gpu* target, unsigned long long from,
                      fake_cuda::Gpu* source, std::size_t bytes, Stream* stream) {
  if (const int code = usable(stream)) {
    return code;
  }
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  const std::lock_guard lock(state().mutex);
  if (fake_cuda::flips()) {
    reinterpret_cast<unsigned char*>(to)[bytes - 1] ^= 1;
  }
  const int towards = static_cast<int>(target - state().gpus);
  const int away = static_cast<int>(source - state().gpus);
  const bool direct = target->reaches.count(away) > 0 || source->reaches.count(towards) > 0;
  fake_cuda::spend(*stream, towards, fake_cuda::kTowards, static_cast<double>(bytes),
                   direct ? fake_cuda::rate("peer=", 40000) : fake_cuda::rate("staged=", 6000));
  return 0;
}
int cuMemsetD32Async(unsigned long long at, unsigned word, std::size_t words, Stream* stream) {
  if (const int code = usable(stream)) {
    return code;
  }
  std::fill_n(reinterpret_cast<unsigned*>(at), words, word);
  return 0;
}
}
// NOLINTEND(readability-identifier-naming,performance-no-int-to-ptr)
