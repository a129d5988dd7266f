// What earlier runs left in a folder that many share, such as /tmp: each entry whose name begins in
// a way that is ours, looked at once. Any thread.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace chokepoint::sys {

// Of a crowded folder no more than the first few thousand entries are looked at; what cannot be
// read is passed over. `visit` may remove the entry it is given.
void for_each_named(const std::filesystem::path& below, std::string_view prefix,
                    const std::function<void(const std::filesystem::path&)>& visit);

}  // namespace chokepoint::sys
