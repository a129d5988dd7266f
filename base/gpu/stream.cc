#include "base/gpu/stream.h"

#include <utility>

#include "base/gpu/codes.h"

namespace chokepoint::gpu {
namespace {

// Calls `function` with the GPU's context current.
template <class Function>
Result<> call(const Cuda& gpu, std::string_view operation, Function function) {
  auto done = gpu.use();
  return done ? gpu.check(function(gpu.functions()), operation) : done;
}

}  // namespace

Result<Event> Event::make(const Cuda& gpu) {
  EventHandle handle = nullptr;
  auto done = call(gpu, "make an event",
                   [&](const Functions& cuda) { return cuda.create_event(&handle, 0); });
  return done ? Result<Event>(Event(gpu, handle)) : fail(std::move(done.error()));
}

Event::Event(Event&& other) noexcept
    : gpu_(other.gpu_), handle_(std::exchange(other.handle_, nullptr)) {}

Event::~Event() {
  if (handle_ != nullptr) {
    static_cast<void>(gpu_->use());
    gpu_->functions().destroy_event(handle_);
  }
}

Result<> Event::finish() const {
  return call(*gpu_, "wait", [&](const Functions& cuda) { return cuda.finish_event(handle_); });
}

Result<double> Event::milliseconds_since(const Event& earlier) const {
  float milliseconds = 0;
  auto done = call(*gpu_, "measure time", [&](const Functions& cuda) {
    return cuda.elapsed(&milliseconds, earlier.handle_, handle_);
  });
  return done ? Result<double>(milliseconds) : fail(std::move(done.error()));
}

Result<bool> Event::is_over() const {
  bool over = true;
  auto done = call(*gpu_, "ask an event", [&](const Functions& cuda) {
    const Code code = cuda.query_event(handle_);
    over = code != kNotReady;
    return over ? code : 0;
  });
  return done ? Result<bool>(over) : fail(std::move(done.error()));
}

Result<Stream> Stream::make(const Cuda& gpu) {
  StreamHandle handle = nullptr;
  auto done = call(gpu, "make a stream", [&](const Functions& cuda) {
    return cuda.create_stream(&handle, kNonBlocking);
  });
  return done ? Result<Stream>(Stream(gpu, handle)) : fail(std::move(done.error()));
}

Stream::Stream(Stream&& other) noexcept
    : gpu_(other.gpu_), handle_(std::exchange(other.handle_, nullptr)) {}

Stream::~Stream() {
  if (handle_ != nullptr) {
    static_cast<void>(gpu_->use());
    gpu_->functions().destroy_stream(handle_);
  }
}

Result<> Stream::to_gpu(Address to, std::span<const std::byte> bytes) const {
  return call(*gpu_, "copy to it", [&](const Functions& cuda) {
    return cuda.to_gpu_later(to, bytes.data(), bytes.size(), handle_);
  });
}

Result<> Stream::from_gpu(std::span<std::byte> to, Address from) const {
  return call(*gpu_, "copy from it", [&](const Functions& cuda) {
    return cuda.from_gpu_later(to.data(), from, to.size(), handle_);
  });
}

Result<> Stream::between(const Cuda& target, Address to, const Cuda& source, Address from,
                         std::uint64_t bytes) const {
  return call(*gpu_, "copy between GPUs", [&](const Functions& cuda) {
    return cuda.to_peer_later(to, target.context(), from, source.context(), bytes, handle_);
  });
}

Result<> Stream::fill(Address at, std::uint32_t word, std::uint64_t words) const {
  return call(*gpu_, "fill memory",
              [&](const Functions& cuda) { return cuda.fill_later(at, word, words, handle_); });
}

Result<> Stream::record(const Event& event) const {
  return call(*gpu_, "record an event",
              [&](const Functions& cuda) { return cuda.record_event(event.native(), handle_); });
}

Result<> Stream::wait_for(const Event& event) const {
  return call(*gpu_, "wait for an event",
              [&](const Functions& cuda) { return cuda.hold_stream(handle_, event.native(), 0); });
}

Result<> Stream::finish() const {
  return call(*gpu_, "wait", [&](const Functions& cuda) { return cuda.finish_stream(handle_); });
}

}  // namespace chokepoint::gpu
