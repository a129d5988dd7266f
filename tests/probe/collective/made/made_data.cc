#include "tests/probe/collective/made/made_data.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace chokepoint::probe::collective {
namespace {

std::uint16_t half_of(int number) {
  if (number == 0) {
    return 0;
  }
  const int exponent = static_cast<int>(std::bit_width(static_cast<unsigned>(number))) - 1;
  const int fraction = (number - (1 << exponent)) << (10 - exponent);
  return static_cast<std::uint16_t>(((exponent + 15) << 10) | fraction);
}

int number_of_half(std::uint16_t half) {
  const int exponent = (half >> 10 & 31) - 15;
  return half == 0 ? 0 : static_cast<int>(std::ldexp(1024 + (half & 1023), exponent - 10));
}

template <class Element>
std::uint64_t bits_of(Element element) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &element, sizeof element);
  return bits;
}

template <class Element>
Element from_bits(std::uint64_t bits) {
  Element element{};
  std::memcpy(&element, &bits, sizeof element);
  return element;
}

std::uint64_t encoded(int number, ElementType type) {
  switch (type) {
    case ElementType::Float32:
      return bits_of(static_cast<float>(number));
    case ElementType::Float64:
      return bits_of(static_cast<double>(number));
    case ElementType::Float16:
      return half_of(number);
    case ElementType::BFloat16:
      return bits_of(static_cast<float>(number)) >> 16U;
    default:
      return static_cast<std::uint64_t>(number);
  }
}

int decoded(std::uint64_t bits, ElementType type) {
  switch (type) {
    case ElementType::Float32:
      return static_cast<int>(from_bits<float>(bits));
    case ElementType::Float64:
      return static_cast<int>(from_bits<double>(bits));
    case ElementType::Float16:
      return number_of_half(static_cast<std::uint16_t>(bits));
    case ElementType::BFloat16:
      return static_cast<int>(from_bits<float>(bits << 16U));
    default:
      return static_cast<int>(bits);
  }
}

int number_at(int rank, std::size_t at) {
  return static_cast<int>((static_cast<std::size_t>(rank) * 5 + at * 3) % 17);
}

std::size_t elements(std::uint64_t bytes, ElementType type) { return bytes / bytes_of(type); }

int sum_at(const Operation& operation, std::size_t at) {
  int sum = 0;
  for (int rank = 0; rank < operation.ranks; ++rank) {
    sum += number_at(rank, at);
  }
  return sum;
}

int output_at(const Operation& operation, int rank, std::size_t at) {
  const std::size_t share =
      elements(operation.bytes, operation.type) / static_cast<std::size_t>(operation.ranks);
  const auto own = static_cast<std::size_t>(rank);
  switch (operation.collective) {
    case Collective::AllReduce:
      return sum_at(operation, at);
    case Collective::AllGather:
      return number_at(static_cast<int>(at / share), at % share);
    case Collective::ReduceScatter:
      return sum_at(operation, own * share + at);
    case Collective::Broadcast:
      return number_at(operation.root, at);
    case Collective::AllToAll:
      return number_at(static_cast<int>(at / share), own * share + at % share);
    case Collective::SendReceive:
      return number_at((rank + operation.ranks - 1) % operation.ranks, at);
  }
  return -1;
}

}  // namespace

std::vector<int> made_input(const Operation& operation, int rank) {
  std::vector<int> numbers(elements(input_bytes(operation), operation.type));
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    numbers[at] = number_at(rank, at);
  }
  return numbers;
}

std::vector<int> made_output(const Operation& operation, int rank) {
  std::vector<int> numbers(elements(output_bytes(operation), operation.type));
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    numbers[at] = output_at(operation, rank, at);
  }
  return numbers;
}

std::vector<std::byte> encode(const std::vector<int>& numbers, ElementType type) {
  const std::size_t size = bytes_of(type);
  std::vector<std::byte> bytes(numbers.size() * size);
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    const std::uint64_t bits = encoded(numbers[at], type);
    std::memcpy(bytes.data() + at * size, &bits, size);
  }
  return bytes;
}

std::vector<int> decode(const std::vector<std::byte>& bytes, ElementType type) {
  const std::size_t size = bytes_of(type);
  std::vector<int> numbers(bytes.size() / size);
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + at * size, size);
    numbers[at] = decoded(bits, type);
  }
  return numbers;
}

}  // namespace chokepoint::probe::collective
