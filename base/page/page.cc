#include "base/page/page.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <array>

#include "base/cli/text.h"

namespace chokepoint::page {
namespace {

// As a policy names an element: by what stands in it.
std::string hash_of(std::string_view content) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash = {};
  const std::string bytes(content);
  crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(bytes.data()),
                     bytes.size());
  constexpr int kVariant = sodium_base64_VARIANT_ORIGINAL;
  std::array<char, sodium_base64_ENCODED_LEN(crypto_hash_sha256_BYTES, kVariant)> text = {};
  sodium_bin2base64(text.data(), text.size(), hash.data(), hash.size(), kVariant);
  return fmt::format("'sha256-{}'", text.data());
}

std::string policy() {
  return fmt::format(
      "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; "
      "form-action 'none'",
      hash_of(page_script()), hash_of(page_style()));
}

std::string head(const Page& page) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n",
      policy(), html_text(page.title), page_style());
}

std::string body(const Page& page) {
  return fmt::format(
      "<body data-view=\"{}\">\n<noscript><pre>{}</pre></noscript>\n"
      "<script type=\"application/json\" id=\"document\">{}</script>\n"
      "<script>{}</script>\n</body>\n</html>\n",
      html_text(page.view), html_text(page.plain_text), script_json(page.document), page_script());
}

}  // namespace

Result<std::string> html_of(const Page& page) {
  if (page_script().empty() || page_style().empty()) {
    return fail(ErrorKind::Unsupported, "page", page.title,
                "this chokepoint was built without the HTML pages: npm was missing",
                "build it again after 'scripts/setup build', or use a released package");
  }
  return head(page) + body(page);
}

namespace {

bool is_forbidden(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  return (code < 0x20 && byte != '\n' && byte != '\t') || code == 0x7f;
}

void add_html(std::string& html, char byte) {
  switch (byte) {
    case '&':
      html += "&amp;";
      break;
    case '<':
      html += "&lt;";
      break;
    case '>':
      html += "&gt;";
      break;
    case '"':
      html += "&quot;";
      break;
    case '\'':
      html += "&#39;";
      break;
    default:
      if (is_forbidden(byte)) {
        html += cli::kNoLetter;
      } else {
        html += byte;
      }
  }
}

}  // namespace

std::string html_text(std::string_view text) {
  const std::string valid = cli::valid_utf8(text);
  std::string html;
  html.reserve(valid.size());
  for (const char byte : valid) {
    add_html(html, byte);
  }
  return html;
}

// What could end the script, or the line of a string in it, is written as \uXXXX.
std::string script_json(const cli::Json& document) {
  struct Escape {
    std::string_view plain;
    std::string_view escaped;
  };
  static constexpr std::array<Escape, 5> kEscapes{{{"<", "\\u003c"},
                                                   {">", "\\u003e"},
                                                   {"&", "\\u0026"},
                                                   {"\u2028", "\\u2028"},
                                                   {"\u2029", "\\u2029"}}};
  const auto may_begin_one = [](char byte) {
    return byte == '<' || byte == '>' || byte == '&' || byte == '\xe2';
  };
  const std::string plain = document.dump(-1, ' ', false, cli::Json::error_handler_t::replace);
  std::string json;
  json.reserve(plain.size() + plain.size() / 16);
  std::string_view rest = plain;
  while (!rest.empty()) {
    const auto clean = std::ranges::find_if(rest, may_begin_one) - rest.begin();
    json += rest.substr(0, static_cast<std::size_t>(clean));
    rest.remove_prefix(static_cast<std::size_t>(clean));
    const auto* const found = std::ranges::find_if(
        kEscapes, [rest](const Escape& each) { return rest.starts_with(each.plain); });
    if (found != kEscapes.end()) {
      json += found->escaped;
      rest.remove_prefix(found->plain.size());
    } else if (!rest.empty()) {
      json += rest.front();
      rest.remove_prefix(1);
    }
  }
  return json;
}

}  // namespace chokepoint::page
