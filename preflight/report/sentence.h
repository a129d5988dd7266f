// What a preflight says in one line, on every page of it. Pure function.
#pragma once

#include <string>

#include "preflight/judge/finding.h"
#include "preflight/result/measured.h"

namespace chokepoint::preflight {

// "4 hosts, 6 pairs: gpu3: 94.1 Mb/s (wanted: 1 Gb/s); 2 more findings", without line ends.
std::string sentence_of(const Measured& measured, const Judgement& judgement);

}  // namespace chokepoint::preflight
