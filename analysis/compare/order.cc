#include "analysis/compare/order.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace chokepoint::analysis {
namespace {

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
}

// The digits that begin here, without the zeros before them.
std::string_view number_at(std::string_view text) {
  const std::size_t zeros = std::min(text.find_first_not_of('0'), text.size());
  const auto end = std::ranges::find_if_not(text.substr(zeros), is_digit);
  return text.substr(zeros, static_cast<std::size_t>(end - text.substr(zeros).begin()));
}

std::size_t digits_at(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
}

}  // namespace

ParallelKind parallel_kind_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, ParallelKind>, 13> kNames{
      {{"data", ParallelKind::Data},
       {"dp", ParallelKind::Data},
       {"ddp", ParallelKind::Data},
       {"data parallel", ParallelKind::Data},
       {"zero", ParallelKind::Sharded},
       {"fsdp", ParallelKind::Sharded},
       {"sharded", ParallelKind::Sharded},
       {"tensor", ParallelKind::Tensor},
       {"tp", ParallelKind::Tensor},
       {"tensor parallel", ParallelKind::Tensor},
       {"pipeline", ParallelKind::Pipeline},
       {"pp", ParallelKind::Pipeline},
       {"pipeline parallel", ParallelKind::Pipeline}}};
  std::string plain(name);
  std::ranges::transform(plain, plain.begin(), lower);
  std::ranges::replace(plain, '-', ' ');
  for (const auto& [known, kind] : kNames) {
    if (plain == known) {
      return kind;
    }
  }
  return ParallelKind::Unknown;
}

std::strong_ordering natural_order(std::string_view one, std::string_view other) {
  while (!one.empty() && !other.empty()) {
    if (is_digit(one.front()) && is_digit(other.front())) {
      const std::string_view first = number_at(one);
      const std::string_view second = number_at(other);
      if (first.size() != second.size()) {
        return first.size() <=> second.size();
      }
      if (const auto order = first.compare(second); order != 0) {
        return order <=> 0;
      }
      one.remove_prefix(digits_at(one));
      other.remove_prefix(digits_at(other));
    } else if (one.front() != other.front()) {
      return one.front() <=> other.front();
    } else {
      one.remove_prefix(1);
      other.remove_prefix(1);
    }
  }
  return one.size() <=> other.size();
}

}  // namespace chokepoint::analysis
