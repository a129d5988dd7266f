// The script and the style of the page, as web/ made them when this was built. Made by embed.cmake;
// both are empty where neither npm nor a release's copy was there.
#pragma once

#include <string_view>

namespace chokepoint::page {

std::string_view page_script();
std::string_view page_style();

}  // namespace chokepoint::page
