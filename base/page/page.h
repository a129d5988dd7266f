// A command's report as one HTML file that needs no other file: the document as JSON, and the
// script that draws it in a browser (web/, bundled at build time). It opens from a mail or a
// ticket and loads nothing from the network: its policy allows only the file's own script and
// style. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/cli/output.h"
#include "base/sys/error.h"

namespace chokepoint::page {

struct Page {
  std::string title = {};
  std::string view = {};  // "report", "comparison": what of the bundle draws it
  cli::Json document = {};
  std::string plain_text = {};  // shown where scripts do not run
};

// Texts of the document may hold anything: nothing in them can end the element that carries them.
// Unsupported where this was built without the bundle.
Result<std::string> html_of(const Page& page);

// Foreign text on its way into an HTML file. Pure functions; any thread.

// Text where HTML shows text: markup becomes what it looks like. Bytes that are no UTF-8 and
// control characters that HTML forbids become U+FFFD.
std::string html_text(std::string_view text);

// A document for a script element: no <, > or &, so nothing in it can begin a tag or a comment, and
// no U+2028 or U+2029, which older scripts take for ends of lines.
std::string script_json(const cli::Json& document);

// The script and the style of the page, as web/ made them when this was built. Made by embed.cmake;
// both are empty where neither npm nor a release's copy was there.

std::string_view page_script();
std::string_view page_style();

}  // namespace chokepoint::page
