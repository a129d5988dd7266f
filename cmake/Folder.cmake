# One library target a folder. Its name is the folder's path with '_' for '/', so the link graph
# reads like the tree and a link against the design's arrows is as visible as an include. All *.cc of
# the folder belong to it; one of headers alone is no more than its arrows.
#   USES      folders and libraries whose headers its own headers may include
#   LINKS     libraries that only its sources need
#   EXCEPT    sources that are left out;  SOURCES  others that are generated
#   UNITS     in how many units its sources are compiled, where folders are compiled as units (1): for
#             a folder that takes a minute
#   SEPARATE  compile each source by itself, also where folders are compiled as one unit
#   BARE      without what every other folder is linked with
function(chokepoint_folder folder)
  cmake_parse_arguments(ARG "BARE;SEPARATE" "UNITS" "SOURCES;EXCEPT;USES;LINKS" ${ARGN})
  string(REPLACE "/" "_" name ${folder})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
  foreach(file ${ARG_EXCEPT})
    list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/${folder}/${file})
  endforeach()
  if(NOT sources AND NOT ARG_SOURCES)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE chokepoint_settings ${ARG_USES})
    return()
  endif()
  add_library(${name} STATIC ${sources} ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC chokepoint_settings ${ARG_USES} PRIVATE ${ARG_LINKS})
  if(NOT ARG_BARE)
    target_link_libraries(${name} PUBLIC fmt::fmt nlohmann_json::nlohmann_json)
  endif()
  chokepoint_unite(${name} "${ARG_SEPARATE}")
  if(ARG_UNITS AND CHOKEPOINT_UNITY)
    list(LENGTH sources count)
    math(EXPR each "(${count} + ${ARG_UNITS} - 1) / ${ARG_UNITS}")
    set_target_properties(${name} PROPERTIES UNITY_BUILD_BATCH_SIZE ${each})
  endif()
  if(TARGET folder_headers AND NOT ARG_BARE)
    target_precompile_headers(${name} REUSE_FROM folder_headers)
  endif()
  if(CHOKEPOINT_FUZZ)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

function(chokepoint_unite name is_separate)
  if(CHOKEPOINT_UNITY AND NOT is_separate)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  endif()
endfunction()

# A shared object that is opened at run time, by this program or by others: it stands beside the
# program (base/sys/library.h), and on none of its folders but for their headers.
function(chokepoint_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_library(${name} MODULE ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE chokepoint_settings ${ARG_LINKS})
  set_target_properties(${name} PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/chokepoint)
  install(TARGETS ${name} LIBRARY DESTINATION lib/chokepoint)
  add_dependencies(modules ${name})
endfunction()

# All of them: whoever builds the program has them, too.
add_custom_target(modules)

# What the thread sanitizer is built for: the tests labelled threads.
add_custom_target(threads)

# What is tested is compiled as users get it; the tests themselves need no more than a compiler that
# is quick.
set(CHOKEPOINT_TEST_OPTIONS $<$<CONFIG:Release>:-O0>)

# The headers that most folders include, compiled once for all of them, by clang alone: GCC forgets that
# they are the system's, and warns of what it only guesses at inside them.
function(chokepoint_precompile_for_folders)
  if(NOT CHOKEPOINT_PRECOMPILE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    return()
  endif()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/folder_headers.cc CONTENT "// Holds what is precompiled.\n")
  add_library(folder_headers OBJECT ${CMAKE_BINARY_DIR}/folder_headers.cc)
  target_link_libraries(folder_headers PRIVATE chokepoint_settings fmt::fmt
    nlohmann_json::nlohmann_json)
  if(CHOKEPOINT_FUZZ)
    target_compile_options(folder_headers PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  target_precompile_headers(folder_headers PRIVATE <algorithm> <array> <chrono> <expected> <filesystem>
    <functional> <map> <memory> <optional> <ranges> <set> <span> <string> <string_view> <thread>
    <vector> <fmt/format.h> <nlohmann/json.hpp>)
endfunction()

# The headers that most tests include, likewise, also by GCC with these warnings off.
function(chokepoint_precompile_for_tests)
  if(NOT CHOKEPOINT_PRECOMPILE)
    return()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND CHOKEPOINT_TEST_OPTIONS -Wno-array-bounds -Wno-maybe-uninitialized
      -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
  set(CHOKEPOINT_TEST_OPTIONS ${CHOKEPOINT_TEST_OPTIONS} PARENT_SCOPE)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/test_headers.cc CONTENT "// Holds what is precompiled.\n")
  add_library(test_headers OBJECT ${CMAKE_BINARY_DIR}/test_headers.cc)
  target_link_libraries(test_headers PRIVATE chokepoint_settings GTest::gmock
    nlohmann_json::nlohmann_json)
  target_compile_options(test_headers PRIVATE ${CHOKEPOINT_TEST_OPTIONS})
  target_precompile_headers(test_headers PRIVATE <chrono> <expected> <functional> <memory>
    <optional> <string> <vector> <nlohmann/json.hpp> <gmock/gmock.h> <gtest/gtest.h>)
endfunction()

# The tests of one source folder, in tests/'s mirror of it: one program, and for ctest one test; what
# it says of its cases is counted by scripts/lib/tally.py. LABELS threads: it starts threads, so it
# runs under the thread sanitizer, too. SHARDS: it waits more than it works, so that many of it run
# side by side.
function(chokepoint_tests name)
  cmake_parse_arguments(ARG "SEPARATE" "SHARDS" "SOURCES;USES;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE chokepoint_settings ${ARG_USES} GTest::gmock GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${CHOKEPOINT_TEST_OPTIONS})
  if(CHOKEPOINT_PRECOMPILE)
    target_precompile_headers(${name} REUSE_FROM test_headers)
  endif()
  target_compile_definitions(${name} PRIVATE
    CHOKEPOINT_FIXTURES="${PROJECT_SOURCE_DIR}/tests/fixtures")
  chokepoint_unite(${name} "${ARG_SEPARATE}")
  if(ARG_SHARDS)
    math(EXPR last "${ARG_SHARDS} - 1")
    foreach(shard RANGE ${last})
      chokepoint_add_tests(${name} ${name}.${shard} "${ARG_LABELS}")
      set_property(TEST ${name}.${shard} PROPERTY
        ENVIRONMENT GTEST_TOTAL_SHARDS=${ARG_SHARDS} GTEST_SHARD_INDEX=${shard})
    endforeach()
  else()
    chokepoint_add_tests(${name} ${name} "${ARG_LABELS}")
  endif()
  if("threads" IN_LIST ARG_LABELS)
    add_dependencies(threads ${name})
  endif()
endfunction()

function(chokepoint_add_tests program name labels)
  add_test(NAME ${name} COMMAND ${program})
  # Under a sanitizer some take two minutes, and another machine may take three times as long.
  set(timeout_s 300)
  if(CHOKEPOINT_INSTRUMENTED)
    set(timeout_s 1200)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout_s} LABELS "unit;${labels}")
endfunction()

# A libFuzzer target, its seeds in tests/fuzz/corpus/NAME. As a test it searches for
# CHOKEPOINT_FUZZ_EACH seconds; where that is not set, for SECONDS (10).
function(chokepoint_fuzz name)
  if(NOT CHOKEPOINT_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "SECONDS" "SOURCES;USES" ${ARGN})
  add_executable(fuzz_${name} ${ARG_SOURCES})
  target_link_libraries(fuzz_${name} PRIVATE chokepoint_settings ${ARG_USES})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  add_test(NAME fuzz.${name} COMMAND ${PROJECT_SOURCE_DIR}/tests/fuzz/search
    $<TARGET_FILE:fuzz_${name}> ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name} ${ARG_SECONDS})
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT 900)
endfunction()
