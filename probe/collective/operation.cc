#include "probe/collective/operation.h"

#include <algorithm>
#include <array>

namespace chokepoint::probe::collective {
namespace {

constexpr std::array<std::string_view, 6> kCollectives{"all-reduce", "all-gather", "reduce-scatter",
                                                       "broadcast",  "all-to-all", "send-receive"};

struct TypeName {
  std::string_view name;
  ElementType type;
};

// The first name of a type is what it is called here.
constexpr std::array kTypes{
    TypeName{"float32", ElementType::Float32}, TypeName{"fp32", ElementType::Float32},
    TypeName{"float", ElementType::Float32},   TypeName{"f32", ElementType::Float32},
    TypeName{"float64", ElementType::Float64}, TypeName{"fp64", ElementType::Float64},
    TypeName{"double", ElementType::Float64},  TypeName{"f64", ElementType::Float64},
    TypeName{"float16", ElementType::Float16}, TypeName{"fp16", ElementType::Float16},
    TypeName{"half", ElementType::Float16},    TypeName{"f16", ElementType::Float16},
    TypeName{"bf16", ElementType::BFloat16},   TypeName{"bfloat16", ElementType::BFloat16},
    TypeName{"int32", ElementType::Int32},     TypeName{"int", ElementType::Int32},
    TypeName{"int64", ElementType::Int64},     TypeName{"uint8", ElementType::Uint8},
    TypeName{"byte", ElementType::Uint8},
};

std::uint64_t count_of(int ranks) { return static_cast<std::uint64_t>(std::max(ranks, 1)); }

bool divided_by_ranks(Collective collective) {
  return collective == Collective::AllGather || collective == Collective::ReduceScatter ||
         collective == Collective::AllToAll;
}

}  // namespace

std::string_view name_of(Collective collective) {
  return kCollectives[static_cast<std::size_t>(collective)];
}

std::optional<Collective> parse_collective(std::string_view name) {
  const auto at = std::ranges::find(kCollectives, name);
  if (at == kCollectives.end()) {
    return std::nullopt;
  }
  return static_cast<Collective>(at - kCollectives.begin());
}

std::string_view name_of(ElementType type) {
  return std::ranges::find(kTypes, type, &TypeName::type)->name;
}

std::optional<ElementType> parse_element_type(std::string_view name) {
  const auto at = std::ranges::find(kTypes, name, &TypeName::name);
  return at == kTypes.end() ? std::nullopt : std::optional(at->type);
}

std::uint64_t bytes_of(ElementType type) {
  switch (type) {
    case ElementType::Float64:
    case ElementType::Int64:
      return 8;
    case ElementType::Float32:
    case ElementType::Int32:
      return 4;
    case ElementType::Float16:
    case ElementType::BFloat16:
      return 2;
    case ElementType::Uint8:
      return 1;
  }
  return 1;
}

std::uint64_t input_bytes(const Operation& operation) {
  return operation.collective == Collective::AllGather ? operation.bytes / count_of(operation.ranks)
                                                       : operation.bytes;
}

std::uint64_t output_bytes(const Operation& operation) {
  return operation.collective == Collective::ReduceScatter
             ? operation.bytes / count_of(operation.ranks)
             : operation.bytes;
}

std::uint64_t rounded(const Operation& operation) {
  const std::uint64_t parts =
      divided_by_ranks(operation.collective) ? count_of(operation.ranks) : 1;
  const std::uint64_t whole = bytes_of(operation.type) * parts;
  return std::max<std::uint64_t>((operation.bytes + whole - 1) / whole, 1) * whole;
}

double bus_factor(Collective collective, int ranks) {
  if (collective == Collective::Broadcast || collective == Collective::SendReceive) {
    return 1;
  }
  const double share = static_cast<double>(ranks - 1) / static_cast<double>(std::max(ranks, 1));
  return collective == Collective::AllReduce ? 2 * share : share;
}

}  // namespace chokepoint::probe::collective
