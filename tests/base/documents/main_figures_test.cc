#include "base/documents/main_figures.h"

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "base/documents/collective.h"
#include "base/documents/document.h"
#include "base/documents/pcie.h"
#include "base/documents/probe_latency.h"
#include "base/documents/probe_path.h"
#include "base/documents/probe_paths.h"
#include "base/documents/probe_quic.h"
#include "base/documents/probe_rpc.h"
#include "base/documents/probe_storage.h"
#include "base/documents/probe_tcp.h"
#include "base/documents/probe_udp.h"
#include "base/documents/rdma.h"

namespace chokepoint::documents {
namespace {

using testing::IsEmpty;
using testing::Optional;

TEST(Figures, AreFoundThroughObjectsAndAtTheEndOfLists) {
  const Json document = Json::parse(R"({"a":{"b":2},"list":[{"c":3},{"c":4}],"text":"5"})");
  EXPECT_THAT(number_at(document, "/a/b"), Optional(2));
  EXPECT_THAT(number_at(document, "/list/-/c"), Optional(4));
  EXPECT_EQ(number_at(document, "/list/c"), std::nullopt);
  EXPECT_EQ(number_at(document, "/a/b/c"), std::nullopt);
  EXPECT_EQ(number_at(document, "/text"), std::nullopt);
  EXPECT_EQ(number_at(Json::parse(R"({"list":[]})"), "/list/-"), std::nullopt);
}

// Rows of several kinds of tests share a column where they share a key.
TEST(Figures, OfOneKeyHaveOneUnitAndOneBetterSide) {
  std::map<std::string, const MainFigure*> known;
  for (const MainFigure& figure : kMainFigures) {
    const auto [place, is_new] = known.try_emplace(figure.key, &figure);
    EXPECT_STREQ(place->second->unit, figure.unit) << figure.key;
    EXPECT_EQ(place->second->better, figure.better) << figure.key;
  }
}

TEST(Figures, ADocumentThatDeclaresNoneHasNone) {
  EXPECT_THAT(figures_of("chokepoint.doctor/1"), IsEmpty());
  EXPECT_EQ(figures_of(schemas::kTcp).front().pointer, "/throughput_mbps");
}

enum class Kind { Absent, Number, Word, Other };

template <class T>
constexpr Kind kind_of() {
  if constexpr (json::detail::kIsOptional<T>) {
    return kind_of<typename T::value_type>();
  } else if constexpr (std::is_same_v<T, bool> || Named<T> || Textual<T> ||
                       std::is_convertible_v<const T&, std::string_view>) {
    return Kind::Word;
  } else if constexpr (std::is_arithmetic_v<T> || json::detail::kIsDuration<T>) {
    return Kind::Number;
  } else {
    return Kind::Other;
  }
}

template <class T>
Kind kind_at(std::string_view pointer);

// Of a struct: `pointer` names a field of it.
template <class T>
Kind kind_of_field(std::string_view pointer) {
  const std::string_view name = pointer.substr(1, pointer.find('/', 1) - 1);
  const std::string_view rest = pointer.substr(1 + name.size());
  Kind found = Kind::Absent;
  each_field<T>([&](const auto& field) {
    using Of = std::remove_cvref_t<decltype(field)>;
    if constexpr (kIsSpread<Of>) {
      const Kind inside = kind_at<typename Of::Member>(pointer);
      found = inside == Kind::Absent ? found : inside;
    } else if constexpr (kIsComputed<Of>) {
      using Value = std::invoke_result_t<decltype(field.value), const T&>;
      found = field.name == name ? kind_at<std::remove_cvref_t<Value>>(rest) : found;
    } else {
      found = field.name == name ? kind_at<typename Of::Member>(rest) : found;
    }
  });
  return found;
}

template <class T>
Kind kind_at(std::string_view pointer) {
  if (pointer.empty()) {
    return kind_of<T>();
  }
  if constexpr (json::detail::kIsOptional<T>) {
    return kind_at<typename T::value_type>(pointer);
  } else if constexpr (json::detail::kIsList<T>) {
    return pointer.starts_with("/-") ? kind_at<typename T::value_type>(pointer.substr(2))
                                     : Kind::Absent;
  } else if constexpr (Described<T>) {
    return kind_of_field<T>(pointer);
  }
  return Kind::Absent;
}

template <documents::Document T>
void expect_fields(std::set<std::string_view>& schemas) {
  constexpr std::string_view kSchema = Fields<T>::kSchema;
  schemas.insert(kSchema);
  for (const MainFigure& figure : kMainFigures) {
    if (figure.schema == kSchema) {
      EXPECT_EQ(kind_at<T>(figure.pointer), Kind::Number) << kSchema << figure.pointer;
    }
  }
  for (const MainSetting& setting : kMainSettings) {
    if (setting.schema == kSchema) {
      EXPECT_THAT(kind_at<T>(setting.pointer), testing::AnyOf(Kind::Number, Kind::Word))
          << kSchema << setting.pointer;
    }
  }
}

// A field that is renamed in its document has to be renamed in the table.
TEST(Figures, AreFieldsOfTheirDocuments) {
  std::set<std::string_view> schemas;
  expect_fields<documents::ProbeTcp>(schemas);
  expect_fields<documents::ProbeUdp>(schemas);
  expect_fields<documents::ProbeQuic>(schemas);
  expect_fields<documents::ProbeRpc>(schemas);
  expect_fields<documents::ProbeLatency>(schemas);
  expect_fields<documents::ProbePath>(schemas);
  expect_fields<documents::ProbePaths>(schemas);
  expect_fields<documents::ProbeStorage>(schemas);
  expect_fields<documents::Pcie>(schemas);
  expect_fields<documents::Collective>(schemas);
  expect_fields<documents::Rdma>(schemas);
  for (const MainFigure& figure : kMainFigures) {
    EXPECT_TRUE(schemas.contains(figure.schema)) << figure.schema;
  }
  for (const MainSetting& setting : kMainSettings) {
    EXPECT_TRUE(schemas.contains(setting.schema)) << setting.schema;
  }
}

}  // namespace
}  // namespace chokepoint::documents
