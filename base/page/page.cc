#include "base/page/page.h"

#include <fmt/format.h>
#include <sodium.h>

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

void add_json(std::string& json, std::string_view rest) {
  switch (rest.front()) {
    case '<':
      json += "\\u003c";
      break;
    case '>':
      json += "\\u003e";
      break;
    case '&':
      json += "\\u0026";
      break;
    default:
      json += rest.front();
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

std::string script_json(const cli::Json& document) {
  const std::string plain = document.dump(-1, ' ', false, cli::Json::error_handler_t::replace);
  std::string json;
  json.reserve(plain.size() + plain.size() / 16);
  for (std::size_t at = 0; at < plain.size(); ++at) {
    const std::string_view rest = std::string_view(plain).substr(at);
    const bool is_line = rest.starts_with("\u2028");
    if (is_line || rest.starts_with("\u2029")) {
      json += is_line ? "\\u2028" : "\\u2029";
      at += 2;
    } else {
      add_json(json, rest);
    }
  }
  return json;
}

}  // namespace chokepoint::page
