// usage: lab_sums RANK RANKS FOLDER INTERFACE STEPS STEP_MS RESULT TRUTH
//
// A job by real Gloo collectives whose results are the same to the bit each time: every rank makes
// gradients of its number, the step and the weights, all-reduces them, changes the weights by them,
// and prints a line a step, without times. RESULT gets the weights, TRUTH when each step began and
// when its line was printed, by the monotonic clock. The ranks meet in FOLDER.
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kWeights = 50'000;
constexpr float kRate = 0.01F;

struct Settings {
  int rank;
  int ranks;
  std::string folder;
  std::string interface;
  int steps;
  int step_ms;
  std::string result;
  std::string truth;
};

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void rest_until(std::int64_t moment_ns) {
  const timespec moment{.tv_sec = moment_ns / 1'000'000'000, .tv_nsec = moment_ns % 1'000'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, nullptr);
}

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

class Training {
 public:
  explicit Training(const Settings& settings)
      : settings_(settings), context_(meet(settings)), weights_(kWeights), gradients_(kWeights) {
    std::iota(weights_.begin(), weights_.end(), 1.0F);
  }

  // The mean loss of all ranks.
  float step(int number) {
    for (std::size_t i = 0; i < kWeights; ++i) {
      const auto salt = static_cast<float>((i * 31 + static_cast<std::size_t>(number) * 17) % 101);
      gradients_[i] = weights_[i] * 0.001F + salt / static_cast<float>(settings_.rank + 3);
    }
    all_reduce();
    for (std::size_t i = 0; i < kWeights; ++i) {
      weights_[i] -= kRate * gradients_[i];
    }
    return mean(weights_[static_cast<std::size_t>(settings_.rank)] +
                gradients_[static_cast<std::size_t>(number) % kWeights]);
  }

  void keep() const {
    std::ofstream file(settings_.result, std::ios::binary);
    file.write(reinterpret_cast<const char*>(weights_.data()),
               static_cast<std::streamsize>(weights_.size() * sizeof(float)));
    file.close();
    if (!file) {
      throw std::runtime_error("cannot write " + settings_.result);
    }
  }

 private:
  void all_reduce() {
    gloo::AllreduceOptions options(context_);
    options.setOutput(gradients_.data(), gradients_.size());
    options.setReduceFunction(sum);
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setTag(tag_++);
    gloo::allreduce(options);
  }

  float mean(float own) {
    std::vector<float> all(static_cast<std::size_t>(settings_.ranks));
    gloo::AllgatherOptions options(context_);
    options.setInput(&own, 1);
    options.setOutput(all.data(), all.size());
    options.setTag(tag_++);
    gloo::allgather(options);
    return std::accumulate(all.begin(), all.end(), 0.0F) / static_cast<float>(settings_.ranks);
  }

  const Settings& settings_;
  std::shared_ptr<gloo::Context> context_;
  std::vector<float> weights_;
  std::vector<float> gradients_;
  std::uint32_t tag_ = 0;
};

void run(const Settings& settings) {
  Training training(settings);
  std::ofstream truth(settings.truth);
  for (int number = 1; number <= settings.steps; ++number) {
    const std::int64_t began_ns = now_ns();
    const float loss = training.step(number);
    rest_until(began_ns + std::int64_t{settings.step_ms} * 1'000'000);
    fmt::print("step {} loss {:.9g}\n", number, loss);
    std::fflush(stdout);
    fmt::print(truth, "{} {}\n", began_ns, now_ns());
  }
  training.keep();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 9) {
    fmt::print(stderr, "usage: lab_sums RANK RANKS FOLDER INTERFACE STEPS STEP_MS RESULT TRUTH\n");
    return 2;
  }
  try {
    run({.rank = std::atoi(argv[1]),
         .ranks = std::atoi(argv[2]),
         .folder = argv[3],
         .interface = argv[4],
         .steps = std::atoi(argv[5]),
         .step_ms = std::atoi(argv[6]),
         .result = argv[7],
         .truth = argv[8]});
  } catch (const std::exception& thrown) {
    fmt::print(stderr, "lab_sums: {}\n", thrown.what());
    return 1;
  }
  return 0;
}
