// usage: plain_gloo RANK RANKS FOLDER INTERFACE BYTES ITERATIONS
//
// What 'probe collective' is held against: libgloo's ring all-reduce of float32 in a loop and
// nothing else, the ranks meeting in a shared folder. Prints the times of its iterations in
// microseconds as JSON, without those of the first five.
#include <fmt/format.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr int kLead = 5;

struct Settings {
  int rank;
  int ranks;
  std::string folder;
  std::string interface;
  std::size_t bytes;
  int iterations;
};

std::shared_ptr<gloo::Context> meet(const Settings& settings) {
  gloo::transport::tcp::attr attributes;
  attributes.iface = settings.interface;
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  gloo::rendezvous::FileStore store(settings.folder);
  auto context = std::make_shared<gloo::rendezvous::Context>(settings.rank, settings.ranks);
  context->connectFullMesh(store, device);
  return context;
}

void sum(void* to, const void* a, const void* b, std::size_t count) {
  gloo::sum<float>(to, a, b, count);
}

double once(const std::shared_ptr<gloo::Context>& context, std::vector<float>& data,
            std::uint32_t tag) {
  const auto begin = std::chrono::steady_clock::now();
  gloo::AllreduceOptions options(context);
  options.setOutput(data.data(), data.size());
  options.setReduceFunction(sum);
  options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
  options.setTag(tag);
  gloo::allreduce(options);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  return took.count();
}

void run(const Settings& settings) {
  const auto context = meet(settings);
  std::vector<float> data(settings.bytes / sizeof(float));
  std::string times;
  for (int number = 0; number < kLead + settings.iterations; ++number) {
    const double took = once(context, data, static_cast<std::uint32_t>(number));
    if (number >= kLead) {
      times += fmt::format("{}{:.3f}", times.empty() ? "" : ",", took);
    }
  }
  gloo::BarrierOptions last(context);
  gloo::barrier(last);
  fmt::print("{{\"times_us\":[{}]}}\n", times);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    fmt::print(stderr, "usage: plain_gloo RANK RANKS FOLDER INTERFACE BYTES ITERATIONS\n");
    return 2;
  }
  try {
    run({.rank = std::atoi(argv[1]),
         .ranks = std::atoi(argv[2]),
         .folder = argv[3],
         .interface = argv[4],
         .bytes = std::stoull(argv[5]),
         .iterations = std::atoi(argv[6])});
  } catch (const std::exception& thrown) {
    fmt::print(stderr, "plain_gloo: {}\n", thrown.what());
    return 1;
  }
  return 0;
}
