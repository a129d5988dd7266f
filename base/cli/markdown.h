// Markdown as tickets and wikis take it (CommonMark with tables). Texts from other hosts are text
// and never become markup. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/cli/table.h"

namespace chokepoint::cli {

// As a part of a line: control characters and line ends as dots, what could be markup escaped.
std::string markdown_text(std::string_view text);
// In backticks, so many that none inside can end it.
std::string markdown_code(std::string_view text);
// The cells are plain text.
std::string markdown_table(const std::vector<Column>& columns,
                           const std::vector<std::vector<std::string>>& rows);

}  // namespace chokepoint::cli
