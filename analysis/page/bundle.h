// The script and the style of the page, as web/ made them when this was built. Made by embed.cmake;
// both are empty where neither npm nor a release's copy was there.
#pragma once

#include <string_view>

namespace chokepoint::analysis {

extern const std::string_view kPageScript;
extern const std::string_view kPageStyle;

}  // namespace chokepoint::analysis
