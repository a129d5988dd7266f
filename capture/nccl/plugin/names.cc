#include "capture/nccl/plugin/names.h"

#include <array>
#include <cstddef>

namespace chokepoint::capture::nccl::plugin {
namespace {

template <typename Value>
struct Named {
  const char* text;
  Value value;
};

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

// Without regard to case: NCCL itself writes both "Ring" and "RING".
bool same(const char* left, const char* right) {
  while (*left != '\0' && lower(*left) == lower(*right)) {
    ++left;
    ++right;
  }
  return *left == '\0' && *right == '\0';
}

template <typename Value, std::size_t kCount>
Value find(const std::array<Named<Value>, kCount>& names, const char* text, Value unknown) {
  if (text == nullptr) {
    return unknown;
  }
  for (const Named<Value>& each : names) {
    if (same(each.text, text)) {
      return each.value;
    }
  }
  return unknown;
}

constexpr std::array<Named<Function>, 10> kFunctions = {{
    {"AllReduce", Function::AllReduce},
    {"AllGather", Function::AllGather},
    {"ReduceScatter", Function::ReduceScatter},
    {"Broadcast", Function::Broadcast},
    {"Reduce", Function::Reduce},
    {"Send", Function::Send},
    {"Recv", Function::Receive},
    {"AlltoAll", Function::AllToAll},
    {"Gather", Function::Gather},
    {"Scatter", Function::Scatter},
}};

constexpr std::array<Named<Algorithm>, 7> kAlgorithms = {{
    {"RING", Algorithm::Ring},
    {"TREE", Algorithm::Tree},
    {"NVLS", Algorithm::Nvls},
    {"NVLS_TREE", Algorithm::NvlsTree},
    {"PAT", Algorithm::Pat},
    {"COLLNET_DIRECT", Algorithm::CollnetDirect},
    {"COLLNET_CHAIN", Algorithm::CollnetChain},
}};

constexpr std::array<Named<Protocol>, 3> kProtocols = {{
    {"SIMPLE", Protocol::Simple},
    {"LL", Protocol::LL},
    {"LL128", Protocol::LL128},
}};

constexpr std::array<Named<Datatype>, 12> kDatatypes = {{
    {"ncclBfloat16", {9, 2}},
    {"ncclFloat32", {7, 4}},
    {"ncclFloat16", {6, 2}},
    {"ncclInt8", {0, 1}},
    {"ncclUint8", {1, 1}},
    {"ncclInt32", {2, 4}},
    {"ncclUint32", {3, 4}},
    {"ncclInt64", {4, 8}},
    {"ncclUint64", {5, 8}},
    {"ncclFloat64", {8, 8}},
    {"ncclFloat8e4m3", {10, 1}},
    {"ncclFloat8e5m2", {11, 1}},
}};

}  // namespace

Function function_of(const char* text) { return find(kFunctions, text, Function::Unknown); }

Algorithm algorithm_of(const char* text) { return find(kAlgorithms, text, Algorithm::Unknown); }

Protocol protocol_of(const char* text) { return find(kProtocols, text, Protocol::Unknown); }

Datatype datatype_of(const char* text) { return find(kDatatypes, text, Datatype{}); }

bool has_root(Function function) {
  return function == Function::Broadcast || function == Function::Reduce ||
         function == Function::Gather || function == Function::Scatter;
}

}  // namespace chokepoint::capture::nccl::plugin
