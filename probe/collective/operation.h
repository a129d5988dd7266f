// What is measured: a collective, its element type and its size; and the sizes as a user gives
// them. `bytes` is what nccl-tests calls the size: what every rank has at the end, or for
// all-to-all what each one sends in total. Values and pure functions.
//
//   n ranks          a rank's input       its output          bus bandwidth / algorithm bandwidth
//   all-reduce       bytes                bytes               2(n−1)/n
//   all-gather       bytes/n              bytes               (n−1)/n
//   reduce-scatter   bytes                bytes/n             (n−1)/n
//   broadcast        bytes at the root    bytes               1
//   all-to-all       bytes                bytes               (n−1)/n
//   send/receive     bytes                bytes               1: to the next rank of a ring
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/documents/collective.h"
#include "base/sys/error.h"

namespace chokepoint::probe::collective {

enum class Collective { AllReduce, AllGather, ReduceScatter, Broadcast, AllToAll, SendReceive };
using documents::ElementType;

}  // namespace chokepoint::probe::collective

template <>
struct chokepoint::EnumNames<chokepoint::probe::collective::Collective> {
  using enum probe::collective::Collective;
  static constexpr std::string_view kWhat = "a collective";
  static constexpr auto kNames =
      std::to_array<EnumName<probe::collective::Collective>>({{AllReduce, "all-reduce"},
                                                              {AllGather, "all-gather"},
                                                              {ReduceScatter, "reduce-scatter"},
                                                              {Broadcast, "broadcast"},
                                                              {AllToAll, "all-to-all"},
                                                              {SendReceive, "send-receive"}});
};

namespace chokepoint::probe::collective {

using chokepoint::name_of;

// By the name that documents have, or another one of the usual: "bf16", "bfloat16".
std::optional<ElementType> type_named(std::string_view name);
std::uint64_t bytes_of(ElementType type);

struct Operation {
  Collective collective = Collective::AllReduce;
  ElementType type = ElementType::Float32;
  std::uint64_t bytes = 0;  // a size that rounded() returns
  int ranks = 1;
  int root = 0;

  bool operator==(const Operation&) const = default;
};

// Of one rank; of the root where ranks differ.
std::uint64_t input_bytes(const Operation& operation);
std::uint64_t output_bytes(const Operation& operation);
// Whether the libraries write the output over the input.
bool is_in_place(const Operation& operation);
// The next size above that the ranks can share: whole elements, and the same for each rank.
std::uint64_t rounded(const Operation& operation);
double bus_factor(Collective collective, int ranks);

inline constexpr std::size_t kMaxSizes = 256;
inline constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 40;

// Of one size ("64M"), a list ("1K,1M,708M") or a range ("8..512M"), in which each size is `factor`
// times the one before. Ascending, each once. Errors are of kind Usage.
Result<std::vector<std::uint64_t>> parse_sizes(std::string_view text, double factor);

}  // namespace chokepoint::probe::collective
