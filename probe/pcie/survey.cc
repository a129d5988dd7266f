#include "probe/pcie/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/gpu/cuda.h"
#include "base/host/gpu.h"
#include "probe/pcie/gpu_survey.h"

namespace chokepoint::probe::pcie {
namespace {

constexpr std::uint64_t kThere = 3;  // seeds; bench.cc has 1 and 2
constexpr std::uint64_t kBack = 4;

// Two GPUs, and the copies between them.
class Pair {
 public:
  Pair(const Bench& one, const Bench& other, const Pace& pace)
      : one_(one), other_(other), pace_(pace) {}

  Result<> copy(const std::string& how, PeerCopies& copies, Verified& verified) const {
    const Lane there = lane(one_.first(), one_, other_);
    const Lane back = lane(other_.first(), other_, one_);
    const Lane back_beside = lane(one_.second(), other_, one_);
    TRY(once(std::array{there}, copies.there_mbps));
    TRY(verify(other_.in(), kThere, how + " there", verified));
    TRY(once(std::array{back}, copies.back_mbps));
    TRY(verify(one_.in(), kBack, how + " back", verified));
    TRY(once(std::array{there, back_beside}, copies.both_mbps));
    TRY(verify(other_.in(), kThere, how + " in both directions, there", verified));
    return verify(one_.in(), kBack, how + " in both directions, back", verified);
  }

  Result<> prepare() const {
    TRY(write_pattern(one_.out(), kThere));
    return write_pattern(other_.out(), kBack);
  }

  Result<> reach(bool directly) const {
    TRY(one_.gpu().reach(other_.gpu(), directly));
    return other_.gpu().reach(one_.gpu(), directly);
  }

 private:
  static Lane lane(const gpu::Stream& stream, const Bench& from, const Bench& to) {
    return {.stream = &stream, .copy = [&stream, &from, &to] {
              return stream.between(to.gpu(), to.in().address(), from.gpu(), from.out().address(),
                                    from.out().bytes());
            }};
  }

  Result<> once(std::span<const Lane> lanes, std::optional<double>& rate) const {
    TRY(clear(one_.first(), one_.in()));
    TRY(clear(other_.first(), other_.in()));
    TRY(rate, measure(lanes, one_.out().bytes(), pace_));
    return {};
  }

  const Bench& one_;
  const Bench& other_;
  const Pace& pace_;
};

void note_failure(const Result<>& done, const std::string& what, PeerOutcome& outcome) {
  if (!done && done.error().kind != ErrorKind::Interrupted) {
    outcome.problems.push_back(fmt::format("{}: {}", what, describe(done.error())));
  }
}

void copy_both_ways(const Pair& pair, const Pace& pace, PeerOutcome& outcome, Verified& verified) {
  auto done = pair.prepare();
  if (done) {
    done = pair.copy("through the host", outcome.staged, verified);
  }
  note_failure(done, "through the host", outcome);
  if (!outcome.reachable.value_or(false) || pace.stopped()) {
    return;
  }
  done = pair.reach(true);
  if (done) {
    done = pair.copy("directly", outcome.direct, verified);
  }
  note_failure(done, "directly", outcome);
  static_cast<void>(pair.reach(false));
}

PeerOutcome survey_peers(const gpu::Cuda& one, const gpu::Cuda& other, const Pace& pace) {
  PeerOutcome outcome{.one = one.pci_address().value_or(one.name()),
                      .other = other.pci_address().value_or(other.name()),
                      .bytes = pace.bytes};
  const auto there = one.can_reach(other);
  const auto back = other.can_reach(one);
  if (there && back) {
    outcome.reachable = *there && *back;
  }
  const auto here = Bench::make(one, pace.bytes);
  if (!here) {
    outcome.problems.push_back(describe(here.error()));
    return outcome;
  }
  const auto beyond = Bench::make(other, pace.bytes);
  if (!beyond) {
    outcome.problems.push_back(describe(beyond.error()));
    return outcome;
  }
  Verified verified;
  copy_both_ways(Pair(*here, *beyond, pace), pace, outcome, verified);
  outcome.verified_bytes = verified.bytes;
  outcome.wrong = std::move(verified.wrong);
  return outcome;
}

using Gpus = std::vector<std::unique_ptr<gpu::Cuda>>;

bool is_address(std::string_view name) { return name.contains(':'); }

// As sysfs writes it; nvidia-smi writes "00000000:3B:00.0", and lspci "3b:00.0".
std::string address_of(const std::string& name) {
  const bool has_domain = std::ranges::count(name, ':') > 1;
  return host::pci_address_of(has_domain ? name : "0000:" + name);
}

bool is_wanted(const gpu::Cuda& gpu, const std::vector<std::string>& wanted) {
  return wanted.empty() || std::ranges::any_of(wanted, [&](const std::string& name) {
           return is_address(name) ? address_of(name) == gpu.pci_address()
                                   : name == std::to_string(gpu.number());
         });
}

// A GPU that was not requested is not opened: that takes memory of it, and powers it up.
bool may_be_wanted(int number, const std::vector<std::string>& wanted) {
  return wanted.empty() || std::ranges::any_of(wanted, [&](const std::string& name) {
           return is_address(name) || name == std::to_string(number);
         });
}

bool has_failed(const Measured& measured, const std::string& name) {
  return std::ranges::any_of(
      measured.gpus, [&](const GpuOutcome& gpu) { return name == std::to_string(gpu.number); });
}

std::optional<Error> missing_gpu(const Gpus& gpus, const std::vector<std::string>& wanted,
                                 const Measured& measured) {
  for (const std::string& name : wanted) {
    if (!has_failed(measured, name) &&
        std::ranges::none_of(gpus, [&](const auto& gpu) { return is_wanted(*gpu, {name}); })) {
      return Error{.kind = ErrorKind::NotFound,
                   .operation = "",
                   .subject = "GPU " + name,
                   .reason = "no such GPU",
                   .next_step =
                       "'nvidia-smi -L' lists this host's GPUs; CUDA_VISIBLE_DEVICES may "
                       "hide some"};
    }
  }
  return std::nullopt;
}

// Those that are wanted and can be opened.
Gpus open_gpus(const std::shared_ptr<const gpu::Driver>& driver,
               const std::vector<std::string>& wanted, Measured& measured) {
  Gpus gpus;
  for (int number = 0; number < driver->gpus(); ++number) {
    if (!may_be_wanted(number, wanted)) {
      continue;
    }
    auto gpu = gpu::Cuda::open(driver, number);
    if (gpu && is_wanted(**gpu, wanted)) {
      gpus.push_back(std::move(*gpu));
    } else if (!gpu && (wanted.empty() || std::ranges::count(wanted, std::to_string(number)) > 0)) {
      measured.gpus.push_back({.number = number, .problems = {describe(gpu.error())}});
    }
  }
  return gpus;
}

std::optional<int> node_of(const sys::Root& root, const gpu::Cuda& gpu) {
  const auto address = gpu.pci_address();
  const auto device = address ? host::read_pci_device(root, *address) : std::nullopt;
  return device ? device->numa_node : std::nullopt;
}

void survey_each(const Gpus& gpus, const SurveyContext& host, const Pace& pace,
                 Measured& measured) {
  const auto nvml = host::NvmlLinks::open(host.nvml);
  const std::vector<Node> nodes = nodes_of(host::read_memory(host.root));
  for (const auto& gpu : gpus) {
    if (pace.stopped()) {
      return;
    }
    // With one node, it is every GPU's.
    const auto node =
        nodes.size() == 1 ? std::optional(nodes.front().number) : node_of(host.root, *gpu);
    measured.gpus.push_back(survey_gpu(*gpu, host, pace, nvml ? &*nvml : nullptr, nodes, node));
  }
}

void survey_pairs(const Gpus& gpus, const SurveyContext& host, const Pace& pace,
                  Measured& measured) {
  for (std::size_t one = 0; one < gpus.size(); ++one) {
    for (std::size_t other = one + 1; other < gpus.size(); ++other) {
      if (pace.stopped()) {
        return;
      }
      host.on_step(
          fmt::format("between GPU {} and GPU {}", gpus[one]->number(), gpus[other]->number()));
      Pace own = pace;
      own.bytes = std::min(fitting_bytes(*gpus[one], host.root, pace.bytes),
                           fitting_bytes(*gpus[other], host.root, pace.bytes));
      measured.peers.push_back(survey_peers(*gpus[one], *gpus[other], own));
    }
  }
}

}  // namespace

Result<Measured> survey(const SurveyContext& host, const Selection& selection, const Pace& pace) {
  Measured measured{.bytes = pace.bytes, .cpus = allowed_cpus()};
  const auto driver = gpu::Driver::open(host.driver);
  if (!driver) {
    if (!selection.gpus.empty()) {
      return fail(driver.error());
    }
    measured.problem = driver.error();
    return measured;
  }
  measured.driver_version = (*driver)->version();
  const Gpus gpus = open_gpus(*driver, selection.gpus, measured);
  if (auto lacking = missing_gpu(gpus, selection.gpus, measured)) {
    return fail(std::move(*lacking));
  }
  survey_each(gpus, host, pace, measured);
  if (selection.peers) {
    survey_pairs(gpus, host, pace, measured);
  }
  measured.interrupted = pace.stopped();
  return measured;
}

}  // namespace chokepoint::probe::pcie
