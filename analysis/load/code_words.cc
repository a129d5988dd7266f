#include "analysis/load/code_words.h"

#include <array>
#include <span>

namespace chokepoint::analysis {
namespace {

constexpr std::array<std::string_view, 2> kDirections{"a_to_b", "b_to_a"};
constexpr std::array<std::string_view, 2> kSeriesKinds{"counter", "gauge"};
constexpr std::array<std::string_view, 5> kStepSources{"", "marks", "output", "collectives",
                                                       "traffic"};
constexpr std::array<std::string_view, 12> kCollectives{
    "unknown", "all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce",
    "gather",  "scatter",    "all-to-all", "barrier",        "send",      "receive"};
constexpr std::array<std::string_view, 4> kCollectiveSources{"", "gloo", "nccl", "traffic"};
constexpr std::array<std::string_view, 8> kAlgorithms{
    "unknown", "tree", "ring", "collnet-direct", "collnet-chain", "nvls", "nvls-tree", "pat"};
constexpr std::array<std::string_view, 4> kProtocols{"unknown", "ll", "ll128", "simple"};

template <class Code>
std::string_view word_among(std::span<const std::string_view> words, Code code) {
  const auto place = static_cast<std::size_t>(code);
  return place < words.size() ? words[place] : std::string_view();
}

}  // namespace

std::string_view word_of(record::Direction direction) { return word_among(kDirections, direction); }
std::string_view word_of(record::SeriesKind kind) { return word_among(kSeriesKinds, kind); }
std::string_view word_of(record::StepSource source) { return word_among(kStepSources, source); }
std::string_view word_of(record::CollectiveKind kind) { return word_among(kCollectives, kind); }
std::string_view word_of(record::CollectiveSource source) {
  return word_among(kCollectiveSources, source);
}

std::string_view word_of(record::CollectiveAlgorithm algorithm) {
  return word_among(kAlgorithms, algorithm);
}
std::string_view word_of(record::CollectiveProtocol protocol) {
  return word_among(kProtocols, protocol);
}

}  // namespace chokepoint::analysis
