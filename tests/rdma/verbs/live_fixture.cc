#include "tests/rdma/verbs/live_fixture.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>

namespace chokepoint::rdma::verbs {
namespace {

template <class T>
T value_of(Result<T> result) {
  if (!result) {
    throw std::runtime_error(describe(result.error()));
  }
  if constexpr (!std::is_void_v<T>) {
    return std::move(*result);
  }
}

template <class Poll>
Completion next(Poll poll) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::array<Completion, 1> found;
  while (std::chrono::steady_clock::now() < end) {
    const int count = poll(std::span(found));
    if (count != 0) {
      return count > 0 ? found[0] : throw std::runtime_error("polling failed");
    }
  }
  throw std::runtime_error("no completion came");
}

}  // namespace

void LiveTest::SetUp() {
  library_ = live_library();
  const Result<std::vector<std::string>> names = library_->devices();
  names && !names->empty() ? use_first_device() : use_fabric();
}

void LiveTest::use_fabric() {
  fabric_ = std::make_unique<fakes::FakeFabric>();
  library_ = fabric_->library({"fake0"});
  use_first_device();
}

void LiveTest::use_first_device() {
  name_ = value_of(library_->devices()).front();
  device_ = value_of(library_->open(name_));
  for (const GidEntry& entry : value_of(device_->port(1)).gids) {
    gid_index_ = entry.index;
  }
}

void KernelTest::SetUp() {
  LiveTest::SetUp();
  if (fabric_ != nullptr) {
    GTEST_SKIP() << "this host has no RDMA device";
  }
}

EndpointOptions LiveTest::options(Transport transport) const {
  return {.transport = transport, .gid_index = gid_index_, .send_depth = 32, .receive_depth = 32};
}

PathOptions LiveTest::path() {
  return {.mtu_bytes = 1024,
          .timeout = 12,
          .retries = 3,
          .rnr_retries = 1,
          .reads_as_target = 4,
          .reads_as_source = 4};
}

Piece LiveTest::piece(std::size_t bytes) {
  return piece(bytes, {.write = true, .read = true, .atomic = device_->limits().atomics});
}

Piece LiveTest::piece(std::size_t bytes, const Rights& peers) {
  Piece made{.bytes = std::vector<std::byte>(bytes), .region = nullptr};
  made.region =
      value_of(device_->register_memory({.address = made.address(), .bytes = bytes}, peers, true));
  return made;
}

Ends LiveTest::open_ends(const EndpointOptions& options) {
  return {.source = value_of(device_->open_endpoint(options)),
          .target = value_of(device_->open_endpoint(options))};
}

Ends LiveTest::connected_ends(const EndpointOptions& options, const PathOptions& path) {
  Ends ends = open_ends(options);
  value_of(ends.source->connect(ends.target->address(), path));
  value_of(ends.target->connect(ends.source->address(), path));
  return ends;
}

Completion next_send(Endpoint& endpoint) {
  return next([&](std::span<Completion> into) { return endpoint.poll_sends(into); });
}

Completion next_receive(Endpoint& endpoint) {
  return next([&](std::span<Completion> into) { return endpoint.poll_receives(into); });
}

SendRequest to_remote(Operation operation, const Piece& from, const Piece& to,
                      std::uint32_t length) {
  return {.operation = operation,
          .local = from.local(length),
          .remote_address = to.address(),
          .remote_key = to.region->remote().key};
}

Completion complete(Endpoint& endpoint, const SendRequest& request) {
  value_of(endpoint.lay_out_sends(0, std::span(&request, 1)));
  if (endpoint.post_sends(0, 0, 1, true) != 0) {
    throw std::runtime_error("posting failed");
  }
  return next_send(endpoint);
}

}  // namespace chokepoint::rdma::verbs
