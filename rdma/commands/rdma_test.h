// chokepoint rdma write, read, send, atomic: bandwidth and latency between two RDMA ports. One
// class, four commands; rdma_test.cc has flags and run, rdma_test_report.cc the JSON document,
// rdma_test_page.cc the page. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/baseline/baseline.h"
#include "base/cli/command.h"
#include "base/cli/flags.h"
#include "base/control/client.h"
#include "base/math/units.h"
#include "base/sys/error.h"
#include "rdma/session/parameters.h"
#include "rdma/session/service.h"
#include "rdma/session/trial.h"

namespace chokepoint::rdma {

// Which of the four commands it is.
enum class Verb { Write, Read, Send, Atomic };

std::string_view name_of(Verb verb);

struct TestFlags {
  std::string metric = {};
  math::Bytes bytes = {};
  bool sweep = false;
  std::int64_t iterations = 0;
  std::chrono::nanoseconds time{0};
  bool both = false;
  std::int64_t queue_pairs = 1;
  std::string transport = "rc";
  bool immediate = false;
  bool compare_and_swap = false;
  bool check = false;
  bool events = false;
  std::int64_t warm_up = -1;

  std::int64_t depth = 0;
  std::int64_t receive_depth = 0;
  std::int64_t moderation = 0;
  std::int64_t post_list = 1;
  std::int64_t inline_bytes = -1;
  math::Rate rate = {};
  bool strict_order = false;

  std::string device = {};
  std::string peer_device = {};
  std::int64_t gid_index = -1;
  std::int64_t peer_gid_index = -1;
  std::string gid_family = "auto";
  std::string roce = "auto";
  std::int64_t mtu = 0;
  std::int64_t traffic_class = 0;
  std::int64_t service_level = 0;
  std::int64_t timeout = 14;
  std::int64_t retries = 7;
  bool cm = false;

  std::string memory = "host";
  std::string peer_memory = "host";

  double min_mbps = 0;
  double max_us = 0;
};

// All flags but METRIC, which comes before HOST.
void define(cli::Flags& flags, TestFlags& test, Verb verb);

// What the flags ask of the test, and of this host's port. Errors are of kind Usage.
Result<session::Parameters> parameters_of(const TestFlags& test, Verb verb);
Result<session::PortWish> own_wish(const TestFlags& test);

class RdmaTestCommand final : public cli::Command {
 public:
  RdmaTestCommand(Verb verb, session::OpenLibrary open) : verb_(verb), open_(std::move(open)) {}

  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<session::Trial> measure(control::Client& client, const session::Parameters& wanted,
                                 const session::PortWish& wish, int interrupt,
                                 const cli::Context& context) const;
  Result<cli::ExitCode> show(const session::Trial& trial, const std::string& peer,
                             cli::Json document, const cli::Context& context) const;
  // Which thresholds were missed, as sentences.
  std::vector<std::string> missed(const session::Trial& trial) const;

  Verb verb_;
  session::OpenLibrary open_;
  TestFlags test_;
  control::PeerFlags peer_;
  baseline::Flags baseline_;
};

}  // namespace chokepoint::rdma
