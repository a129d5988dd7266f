#include "analysis/commands/compare_output.h"

#include <array>
#include <filesystem>
#include <utility>

namespace chokepoint::analysis {
namespace {

namespace fs = std::filesystem;

using Name = std::pair<std::string_view, Form>;

template <std::size_t N>
std::optional<Form> named(const std::array<Name, N>& names, std::string_view name) {
  for (const auto& [known, form] : names) {
    if (known == name) {
      return form;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<Form> form_of(const std::string& format, const std::string& file) {
  constexpr std::array<Name, 4> kFormats{{{"text", Form::Text},
                                          {"markdown", Form::Markdown},
                                          {"csv", Form::Csv},
                                          {"html", Form::Html}}};
  constexpr std::array<Name, 6> kEndings{{{".txt", Form::Text},
                                          {".md", Form::Markdown},
                                          {".csv", Form::Csv},
                                          {".html", Form::Html},
                                          {".htm", Form::Html},
                                          {".json", Form::Json}}};
  if (!format.empty()) {
    return named(kFormats, format).value_or(Form::Text);
  }
  if (file.empty()) {
    return Form::Text;
  }
  const std::optional<Form> form = named(kEndings, fs::path(file).extension().string());
  return form ? Result<Form>(*form)
              : fail(ErrorKind::Usage, "", "-o " + file, "the name does not tell the format",
                     "end it with .html, .md, .csv, .json or .txt, or give --format");
}

}  // namespace chokepoint::analysis
