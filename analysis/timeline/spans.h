// Sets of spans of time: sorted, and none touches another. Pure functions.
#pragma once

#include <span>
#include <vector>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

using Spans = std::vector<Span>;

// Sorts and joins; empty ones are left out.
Spans united(Spans spans);
Spans common_to(std::span<const Span> one, std::span<const Span> other);
// What of the set lies in none of the other.
Spans without(std::span<const Span> set, std::span<const Span> other);
std::int64_t length_ns(std::span<const Span> spans);
// Those of the set that have something in common with a span.
std::span<const Span> touching(std::span<const Span> spans, Span part);
// How much of a span the set covers.
std::int64_t covered_ns(std::span<const Span> spans, Span part);
bool covers(std::span<const Span> spans, std::int64_t t_ns);

}  // namespace chokepoint::analysis
