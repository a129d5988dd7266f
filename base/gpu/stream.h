// What a GPU does beside the caller: copies and fills one after the other in a stream, several
// streams at the same time, and events that tell when. Both must not outlive their GPU, and what a
// stream was given must stay until finish(). Move only; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/gpu/cuda.h"

namespace chokepoint::gpu {

class Event {
 public:
  static Result<Event> make(const Cuda& gpu);
  Event(Event&& other) noexcept;
  Event& operator=(Event&&) = delete;
  ~Event();

  Result<> finish() const;
  // Of two recorded events of one GPU; waits for neither, so finish() the later one first.
  Result<double> milliseconds_since(const Event& earlier) const;
  // Has it come to pass?
  Result<bool> is_over() const;
  EventHandle native() const { return handle_; }

 private:
  Event(const Cuda& gpu, EventHandle handle) : gpu_(&gpu), handle_(handle) {}

  const Cuda* gpu_;
  EventHandle handle_;
};

class Stream {
 public:
  static Result<Stream> make(const Cuda& gpu);
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&&) = delete;
  ~Stream();

  // Host memory that is not pinned is copied through the driver's own, and the call waits for that.
  Result<> to_gpu(Address to, std::span<const std::byte> bytes) const;
  Result<> from_gpu(std::span<std::byte> to, Address from) const;
  // From this stream's GPU to another, or from another to this one. Through host memory unless one
  // of the two reaches the other (Cuda::reach).
  Result<> between(const Cuda& target, Address to, const Cuda& source, Address from,
                   std::uint64_t bytes) const;
  Result<> fill(Address at, std::uint32_t word, std::uint64_t words) const;

  Result<> record(const Event& event) const;
  Result<> wait_for(const Event& event) const;  // what is given to the stream from now on waits
  Result<> finish() const;

  const Cuda& gpu() const { return *gpu_; }
  StreamHandle native() const { return handle_; }  // cudaStream_t, too

 private:
  Stream(const Cuda& gpu, StreamHandle handle) : gpu_(&gpu), handle_(handle) {}

  const Cuda* gpu_;
  StreamHandle handle_;
};

}  // namespace chokepoint::gpu
