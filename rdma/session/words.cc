#include "rdma/session/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace chokepoint::rdma::session {
namespace {

using perf::Metric;
using verbs::GidType;
using verbs::Operation;

template <class Value, std::size_t N>
using Names = std::array<std::pair<Value, std::string_view>, N>;

constexpr Names<Operation, 6> kOperations{{{Operation::Write, "write"},
                                           {Operation::WriteImmediate, "write_immediate"},
                                           {Operation::Read, "read"},
                                           {Operation::Send, "send"},
                                           {Operation::FetchAndAdd, "fetch_and_add"},
                                           {Operation::CompareAndSwap, "compare_and_swap"}}};
constexpr Names<Metric, 2> kMetrics{{{Metric::Bandwidth, "bw"}, {Metric::Latency, "lat"}}};
constexpr Names<GidType, 3> kGidTypes{{{GidType::InfiniBand, "InfiniBand"},
                                       {GidType::RoceV1, "RoCE v1"},
                                       {GidType::RoceV2, "RoCE v2"}}};

constexpr int kMostGpus = 64;

template <class Value, std::size_t N>
std::string_view name_in(const Names<Value, N>& names, Value value) {
  const auto at = std::ranges::find(names, value, &std::pair<Value, std::string_view>::first);
  return at == names.end() ? std::string_view() : at->second;
}

template <class Value, std::size_t N>
Result<Value> value_in(const Names<Value, N>& names, std::string_view name, std::string_view what) {
  const auto at = std::ranges::find(names, name, &std::pair<Value, std::string_view>::second);
  if (at == names.end()) {
    return fail(ErrorKind::Malformed, "read message", what, "no name that is known");
  }
  return at->first;
}

}  // namespace

std::string_view name_of(Operation operation) { return name_in(kOperations, operation); }

Result<Operation> operation_named(std::string_view name) {
  return value_in(kOperations, name, "'operation'");
}

std::string_view name_of(Metric metric) { return name_in(kMetrics, metric); }

Result<Metric> metric_named(std::string_view name) { return value_in(kMetrics, name, "'metric'"); }

std::string_view name_of(GidType type) { return name_in(kGidTypes, type); }

Result<GidType> gid_type_named(std::string_view name) {
  return value_in(kGidTypes, name, "'gid_type'");
}

std::string text_of(const Memory& memory) {
  switch (memory.kind) {
    case Memory::Kind::Host:
      return "host";
    case Memory::Kind::Huge:
      return "huge";
    case Memory::Kind::Gpu:
      return fmt::format("gpu:{}", memory.gpu);
  }
  return "";
}

Result<Memory> memory_named(std::string_view text) {
  constexpr std::string_view kGpu = "gpu:";
  if (text == "host" || text == "huge") {
    return Memory{.kind = text == "host" ? Memory::Kind::Host : Memory::Kind::Huge};
  }
  int gpu = -1;
  if (text.starts_with(kGpu)) {
    const auto [end, error] =
        std::from_chars(text.data() + kGpu.size(), text.data() + text.size(), gpu);
    gpu = error == std::errc() && end == text.data() + text.size() ? gpu : -1;
  }
  if (gpu < 0 || gpu >= kMostGpus) {
    return fail(ErrorKind::Usage, "", fmt::format("memory '{}'", text), "there is no such memory",
                "host, huge (huge pages) or gpu:N");
  }
  return Memory{.kind = Memory::Kind::Gpu, .gpu = gpu};
}

}  // namespace chokepoint::rdma::session
