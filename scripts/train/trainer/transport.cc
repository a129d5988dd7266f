#include "scripts/train/trainer/transport.h"

#include <gloo/config.h>
#include <gloo/transport/tcp/device.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>

// Gloo's own header needs that of libibverbs, which libgloo-dev does not bring along.
#if GLOO_HAVE_TRANSPORT_IBVERBS && __has_include(<infiniband/verbs.h>)
#include <gloo/transport/ibverbs/device.h>
#define TRAINER_HAS_VERBS 1
#else
#define TRAINER_HAS_VERBS 0
#endif

namespace chokepoint::trainer {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

gloo::transport::tcp::attr place(const Settings& settings) {
  gloo::transport::tcp::attr attributes;
  attributes.iface = settings.interface;
  if (settings.interface.empty()) {
    attributes.hostname = host_name();
  }
  if (settings.family != 0) {
    attributes.ai_family = settings.family == 6 ? AF_INET6 : AF_INET;
  }
  return attributes;
}

std::shared_ptr<gloo::transport::Device> make_rdma_device(
    [[maybe_unused]] const Settings& settings) {
#if TRAINER_HAS_VERBS
  return gloo::transport::ibverbs::CreateDevice(
      {.name = settings.rdma, .port = 1, .index = settings.gid_index});
#else
  throw std::runtime_error("built without verbs: --rdma needs libibverbs-dev and a Gloo with them");
#endif
}

}  // namespace

std::shared_ptr<gloo::transport::Device> make_device(const Settings& settings) {
  return settings.rdma.empty() ? gloo::transport::tcp::CreateDevice(place(settings))
                               : make_rdma_device(settings);
}

}  // namespace chokepoint::trainer
