#include "analysis/timeline/spans.h"

#include <algorithm>

namespace chokepoint::analysis {

Spans united(Spans spans) {
  std::erase_if(spans, [](const Span& span) { return span.end_ns <= span.start_ns; });
  std::ranges::sort(spans, {}, &Span::start_ns);
  Spans set;
  for (const Span& span : spans) {
    if (set.empty() || span.start_ns > set.back().end_ns) {
      set.push_back(span);
    } else {
      set.back().end_ns = std::max(set.back().end_ns, span.end_ns);
    }
  }
  return set;
}

Spans common_to(std::span<const Span> one, std::span<const Span> other) {
  Spans set;
  while (!one.empty() && !other.empty()) {
    const Span both{std::max(one.front().start_ns, other.front().start_ns),
                    std::min(one.front().end_ns, other.front().end_ns)};
    if (both.end_ns > both.start_ns) {
      set.push_back(both);
    }
    auto& first_to_end = one.front().end_ns < other.front().end_ns ? one : other;
    first_to_end = first_to_end.subspan(1);
  }
  return set;
}

Spans without(std::span<const Span> set, std::span<const Span> other) {
  Spans rest;
  for (Span left : set) {
    while (!other.empty() && other.front().end_ns <= left.start_ns) {
      other = other.subspan(1);
    }
    for (const Span& cut : other) {
      if (cut.start_ns >= left.end_ns) {
        break;
      }
      if (cut.start_ns > left.start_ns) {
        rest.push_back({left.start_ns, cut.start_ns});
      }
      left.start_ns = std::max(left.start_ns, cut.end_ns);
    }
    if (left.end_ns > left.start_ns) {
      rest.push_back(left);
    }
  }
  return rest;
}

std::int64_t length_ns(std::span<const Span> spans) {
  std::int64_t sum_ns = 0;
  for (const Span& span : spans) {
    sum_ns += span.length_ns();
  }
  return sum_ns;
}

std::span<const Span> touching(std::span<const Span> spans, Span part) {
  if (part.end_ns <= part.start_ns) {
    return {};
  }
  const auto first = std::ranges::upper_bound(spans, part.start_ns, {}, &Span::end_ns);
  const auto last = std::ranges::lower_bound(first, spans.end(), part.end_ns, {}, &Span::start_ns);
  return {first, last};
}

std::int64_t covered_ns(std::span<const Span> spans, Span part) {
  std::int64_t sum_ns = 0;
  for (const Span& span : touching(spans, part)) {
    sum_ns += std::min(span.end_ns, part.end_ns) - std::max(span.start_ns, part.start_ns);
  }
  return sum_ns;
}

bool covers(std::span<const Span> spans, std::int64_t t_ns) {
  return covered_ns(spans, {t_ns, t_ns + 1}) > 0;
}

}  // namespace chokepoint::analysis
