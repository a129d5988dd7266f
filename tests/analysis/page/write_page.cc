// usage: write_page VIEW <DOCUMENT.json >PAGE.html
//
// The page of any document, for the tests that open it in a browser.
#include <cstdio>
#include <iostream>

#include "analysis/page/page.h"

int main(int argc, char** argv) {
  using chokepoint::analysis::html_of;
  if (argc != 2) {
    std::fputs("usage: write_page VIEW <DOCUMENT.json >PAGE.html\n", stderr);
    return 2;
  }
  auto document = chokepoint::cli::Json::parse(std::cin, nullptr, false);
  if (document.is_discarded()) {
    std::fputs("write_page: this is no JSON\n", stderr);
    return 1;
  }
  const auto html = html_of({.title = "a page for tests",
                             .view = argv[1],
                             .document = std::move(document),
                             .plain_text = "the page as plain text"});
  if (!html) {
    std::fprintf(stderr, "%s\n", describe(html.error()).c_str());
    return 77;
  }
  std::cout << *html;
}
