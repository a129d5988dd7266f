// A group of ranks connected by libgloo. Owns the memory that collectives work on. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "probe/collective/backend.h"
#include "probe/collective/communicator.h"
#include "probe/collective/gloo/device.h"
#include "probe/collective/gloo/library.h"
#include "probe/collective/way/connections.h"

namespace chokepoint::probe::collective {

class GlooCommunicator final : public Communicator {
 public:
  static Result<std::unique_ptr<Communicator>> open(std::shared_ptr<const GlooLibrary> library,
                                                    const Place& place, Store& store,
                                                    const BackendOptions& options);
  GlooCommunicator(const GlooCommunicator&) = delete;
  GlooCommunicator& operator=(const GlooCommunicator&) = delete;
  ~GlooCommunicator() override;

  Result<> prepare(const Operation& operation) override;
  Result<> write_input(std::span<const std::byte> bytes) override;
  Result<std::vector<double>> run(int times) override;
  Result<> read_output(std::span<std::byte> bytes) const override;
  Way way() const override;

 private:
  GlooCommunicator(std::shared_ptr<const GlooLibrary> library, const Place& place,
                   std::string algorithm, std::string remark);
  Result<> connect(const std::vector<GlooDevice>& devices, Store& store,
                   std::chrono::seconds timeout);
  Error failed(std::string_view what, const gloo_module::Text& problem) const;
  bool is_in_place() const;

  std::shared_ptr<const GlooLibrary> library_;
  Place place_;
  std::string algorithm_;
  std::string remark_;
  ConnectionsSince connections_;
  gloo_module::Group* group_ = nullptr;
  Operation operation_;
  std::vector<std::byte> input_;
  std::vector<std::byte> output_;
};

}  // namespace chokepoint::probe::collective
