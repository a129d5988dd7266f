#include "base/page/escape.h"

#include "base/cli/utf8.h"

namespace chokepoint::page {
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
