// usage: write_page VIEW <DOCUMENT.json >PAGE.html
//
// The page of any document, for the tests that open it in a browser.
#include <exception>
#include <iostream>

#include "base/page/page.h"

namespace {

using chokepoint::cli::Json;
using chokepoint::page::html_of;

constexpr int kSkipped = 77;

int complain(const std::string& what, int code) {
  std::cerr << "write_page: " << what << '\n';
  return code;
}

int write(const std::string& view) {
  const Json document = Json::parse(std::cin, nullptr, false);
  if (document.is_discarded()) {
    return complain("this is no JSON", 1);
  }
  const auto html = html_of({.title = "a page for tests",
                             .view = view,
                             .document = document,
                             .plain_text = "the page as plain text"});
  if (!html) {
    return complain(describe(html.error()), kSkipped);
  }
  std::cout << *html;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return argc == 2 ? write(argv[1]) : complain("usage: write_page VIEW <DOCUMENT.json", 2);
  } catch (const std::exception& error) {
    return complain(error.what(), 1);
  }
}
