// Ranks connected by NCCL, each with memory and a stream of its GPU. Where a rank is gone, NCCL's
// kernels wait for ever: whoever waits here asks NCCL for errors meanwhile, and aborts. One thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "base/gpu/cuda.h"
#include "probe/collective/communicator.h"
#include "probe/collective/nccl/environment.h"
#include "probe/collective/nccl/library.h"
#include "probe/collective/way/connections.h"

namespace chokepoint::probe::collective::nccl {

struct Members {
  std::shared_ptr<const Library> library;
  std::shared_ptr<const gpu::Cuda> cuda;
  Comm comm;
  Place place;
  std::chrono::seconds timeout;
  bool shares_gpu;
};

class Group final : public Communicator {
 public:
  // Owns the communicator from then on, also where this fails.
  static Result<std::unique_ptr<Communicator>> make(Members members, LogFile log,
                                                    ConnectionsSince connections);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group() override;

  Result<> prepare(const Operation& operation) override;
  Result<> write_input(std::span<const std::byte> bytes) override;
  Result<std::vector<double>> run(int times) override;
  Result<> read_output(std::span<std::byte> bytes) const override;
  Way way() const override;

 private:
  Group(Members members, LogFile log, ConnectionsSince connections);
  Result<> run_some(int times, std::vector<double>& times_us);
  Result<std::vector<gpu::Event>> events(int count) const;
  Result<> enqueue(int times, const std::vector<gpu::Event>& events);
  // Until the event is over, NCCL has failed, or it takes too long.
  Result<> wait_for(const gpu::Event& event);
  Error give_up(Error error);
  bool is_in_place() const;
  gpu::Address input() const;

  Members members_;
  LogFile log_;
  ConnectionsSince connections_;
  Operation operation_;
  // Above all that they are made of.
  std::optional<gpu::Stream> stream_;
  std::optional<gpu::Memory> input_;
  std::optional<gpu::Memory> output_;
};

}  // namespace chokepoint::probe::collective::nccl
