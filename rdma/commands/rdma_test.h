// The flags of chokepoint rdma write, read, send and atomic, and what they ask for. rdma_test.cc
// has the command, rdma_test_report.cc the JSON document, rdma_test_page.cc the page; rdma_flows.cc
// runs and shows --flows. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/cli/flags.h"
#include "base/math/units.h"
#include "base/sys/error.h"
#include "rdma/commands/commands.h"
#include "rdma/session/parameters.h"

namespace chokepoint::rdma {

std::string_view name_of(Verb verb);

struct TestFlags {
  std::string metric = {};
  math::Bytes bytes = {};
  bool sweep = false;
  std::int64_t flows = 0;
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
  std::int64_t flow_label = 0;
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
Result<session::PortRequest> own_wish(const TestFlags& test);

}  // namespace chokepoint::rdma
