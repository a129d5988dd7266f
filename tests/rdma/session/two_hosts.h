// Two hosts in this process, each with a device of one fabric: a server on loopback and a client.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rdma/session/service.h"
#include "rdma/session/trial.h"
#include "tests/fakes/host_tree.h"
#include "tests/fakes/probe_server.h"
#include "tests/rdma/fakes/fabric.h"

namespace chokepoint::rdma::session {

// What /sys shows of a fake device.
inline std::string tree_of(const std::string& device, const std::string& ipv4_in_hex) {
  const std::string port = fmt::format("/sys/class/infiniband/{}/ports/1", device);
  std::string text = fmt::format("{0}/state = 4: ACTIVE\n{0}/link_layer = Ethernet\n", port);
  const std::string own = fmt::format("0000:0000:0000:0000:0000:ffff:{}", ipv4_in_hex);
  for (int index = 0; index < 4; ++index) {
    text += fmt::format("{0}/gids/{1} = {2}\n{0}/gid_attrs/types/{1} = {3}\n", port, index,
                        index < 2 ? "fe80:0000:0000:0000:0000:00ff:fe00:0001" : own,
                        index % 2 == 0 ? "IB/RoCE v1" : "RoCE v2");
  }
  return text;
}

class TwoHosts : public testing::Test {
 protected:
  control::Services services() {
    control::Services services;
    services.push_back(rdma_service([this] { return fabric_.library({"fake1"}); }));
    return services;
  }

  fakes::ProbeServer& server() {
    if (!server_) {
      server_ = std::make_unique<fakes::ProbeServer>(
          services(),
          probe::serve::ServerOptions{.own = {"chokepoint test", "hubble"}, .keys = key_}, limits_,
          there_.root());
    }
    return *server_;
  }

  Result<Trial> run(const Parameters& parameters) {
    Result<control::Client> client = server().client(key_);
    if (!client) {
      return std::unexpected(client.error());
    }
    return run_with(*client, parameters);
  }

  Result<Trial> run_with(control::Client& client, const Parameters& parameters) {
    const Here here{.root = here_.root(),
                    .clock = clock_,
                    .wish = wish_,
                    .host = "voyager",
                    .interrupt = interrupt_};
    return session::run(client, parameters, fabric_.library({"fake0"}), here,
                        {.waiting = [](const std::string&) {},
                         .agreed = [this](const Trial&) { on_agreed_(); },
                         .round =
                             [this](const Round&) {
                               ++rounds_;
                               on_round_();
                             }});
  }

  std::string refusal(const Parameters& parameters) {
    const Result<Trial> trial = run(parameters);
    return trial ? "a trial" : describe(trial.error());
  }

  // Nothing that the test has made is left.
  void expect_nothing_left() {
    server_.reset();
    for (const char* device : {"fake0", "fake1"}) {
      EXPECT_EQ(fabric_.traffic(device).queue_pairs, 0) << device;
      EXPECT_EQ(fabric_.traffic(device).regions, 0) << device;
    }
  }

  fakes::FakeFabric fabric_;
  fakes::HostTree here_ = fakes::HostTree::from_text(tree_of("fake0", "c000:0201"));
  fakes::HostTree there_ = fakes::HostTree::from_text(tree_of("fake1", "c000:0202"));
  sys::SystemClock clock_;
  std::optional<control::Secret> key_;
  control::Limits limits_;
  PortRequest wish_;
  int interrupt_ = -1;
  int rounds_ = 0;
  std::function<void()> on_agreed_ = [] {};
  std::function<void()> on_round_ = [] {};
  std::unique_ptr<fakes::ProbeServer> server_;
};

}  // namespace chokepoint::rdma::session
