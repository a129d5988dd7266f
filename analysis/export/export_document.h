// The JSON documents of an export: what `--to json` writes, chokepoint.export/1, and what --json
// prints about the files that were written, chokepoint.exported/1. Values.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/export/formats.h"
#include "analysis/timeline/clocks.h"
#include "base/json/codec.h"

namespace chokepoint::analysis {

enum class ExportFormat : std::uint8_t { Perfetto, Prometheus, Csv, Json, Otlp };

struct Exported {
  std::string run = {};
  ExportFormat to = ExportFormat::Json;
  std::uint64_t rows = 0;
  std::optional<std::uint64_t> events = {};
  std::vector<WrittenFile> files = {};  // none on standard output
};

// The head of a node in an exported document, before its tables.
struct ExportedNodeHead {
  std::string node = {};
  std::string host = {};
  std::string command = {};
  std::optional<std::int64_t> exit_status = {};
  bool is_complete = false;
  NodeClock clock = {};
};

// The rest is written as the rows come (json.cc): these structs say what it is like.

struct TableCell {};

struct TableContents {
  std::vector<std::string> columns = {};
  std::vector<std::vector<TableCell>> rows = {};
};

struct ExportedNode {
  ExportedNodeHead head = {};
  std::map<std::string, TableContents> tables = {};
};

struct ExportDocument {
  std::string run = {};
  std::int64_t zero_wall_ns = 0;
  std::vector<ExportedNode> nodes = {};
  std::vector<std::string> troubles = {};
};

}  // namespace chokepoint::analysis

namespace chokepoint {

template <>
struct EnumNames<analysis::ExportFormat> {
  using enum analysis::ExportFormat;
  static constexpr std::string_view kWhat = "perfetto, prometheus, csv, json or otlp";
  static constexpr auto kNames =
      std::to_array<EnumName<analysis::ExportFormat>>({{Perfetto, "perfetto"},
                                                       {Prometheus, "prometheus"},
                                                       {Csv, "csv"},
                                                       {Json, "json"},
                                                       {Otlp, "otlp"}});
};

template <>
struct Fields<analysis::WrittenFile> {
  using W = analysis::WrittenFile;
  static constexpr FieldList kList{
      computed<W>(
          "path", [](const W& file) { return file.path.string(); }, "path as it was given"),
      field("bytes", &W::bytes, "bytes of the file")};
};

template <>
struct Fields<analysis::Exported> {
  using E = analysis::Exported;
  static constexpr std::string_view kSchema = "chokepoint.exported/1";
  static constexpr const char* kCommand = "export";
  static constexpr FieldList kList{
      field("run", &E::run, "the folder as it was given"), field("to", &E::to, "the format"),
      field("rows", &E::rows, "number of rows read"),
      field("events", &E::events, "number of events of a trace; null for other formats"),
      field("files", &E::files, "files written")};
};

template <>
struct Fields<analysis::NodeClock> {
  using C = analysis::NodeClock;
  static constexpr FieldList kList{
      field("source", &C::source, "how the node's offset is known"),
      field("offset_ns", &C::offset_ns, "the node's time minus the common time"),
      field("drift_ppm", &C::drift_ppm, "how much faster the node's clock runs"),
      field("error_ns", &C::error_ns, "largest error of the offset; null: not known").at_least(0),
      field("noise_ns", &C::noise_ns, "measured noise of the offset; null without packets")
          .at_least(0)};
};

template <>
struct Fields<analysis::ExportedNodeHead> {
  using H = analysis::ExportedNodeHead;
  static constexpr FieldList kList{
      field("node", &H::node, "name of the node"),
      field("host", &H::host, "on which it ran").null_if_empty(),
      field("command", &H::command, "command line of the job; null without one").null_if_empty(),
      field("exit_status", &H::exit_status, "exit status of the job"),
      field("is_complete", &H::is_complete, "the record has an end"),
      field("clock", &H::clock, "the node's clock compared with the run's common clock")};
};

template <>
struct JsonForm<analysis::TableCell> {
  static void describe(json::Json& schema, bool /*is_nullable*/) {
    schema["type"] = {"string", "number", "boolean", "null"};
  }
};

template <>
struct Fields<analysis::TableContents> {
  using T = analysis::TableContents;
  static constexpr FieldList kList{
      field("columns", &T::columns, "names of the columns"),
      field("rows", &T::rows, "rows, each with a value for each column")};
};

template <>
struct Fields<analysis::ExportedNode> {
  using N = analysis::ExportedNode;
  static constexpr FieldList kList{
      spread(&N::head),
      field("tables", &N::tables, "tables, by the names in docs/guide/export.md")};
};

template <>
struct Fields<analysis::ExportDocument> {
  using D = analysis::ExportDocument;
  static constexpr std::string_view kSchema = "chokepoint.export/1";
  static constexpr const char* kPrinted = "what `chokepoint export DIR --to json` writes";
  static constexpr FieldList kList{
      field("run", &D::run, "the folder as it was given"),
      field("zero_wall_ns", &D::zero_wall_ns,
            "nanoseconds since 1970 at which the common clock's seconds are 0"),
      field("nodes", &D::nodes, "nodes with a record"),
      field("troubles", &D::troubles, "what could not be read, one line each")};
};

}  // namespace chokepoint
