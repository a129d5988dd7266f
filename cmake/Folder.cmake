# One library target a folder. Its name is the folder's path with '_' for '/', so the link graph
# reads like the tree and a link against the design's arrows is as visible as an include.
function(chokepoint_folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LINKS" ${ARGN})
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REPLACE "/" "_" name ${folder})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC chokepoint_settings ${ARG_USES} PRIVATE ${ARG_LINKS})
endfunction()

# A shared object that is opened at run time, by this program or by others: it stands beside the
# program (base/sys/own_files.h), and on none of its folders but for their headers.
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
set(CHOKEPOINT_TEST_OPTIONS $<$<CONFIG:Release>:-O1>)

# The headers that most tests include, compiled once for all of them. GCC forgets that they are the
# system's, and warns of what it only guesses at inside them; product sources go without for that.
function(chokepoint_precompile_for_tests)
  if(NOT CHOKEPOINT_PRECOMPILE)
    return()
  endif()
  list(APPEND CHOKEPOINT_TEST_OPTIONS -Wno-array-bounds -Wno-maybe-uninitialized
    -Wno-stringop-overflow -Wno-stringop-overread)
  set(CHOKEPOINT_TEST_OPTIONS ${CHOKEPOINT_TEST_OPTIONS} PARENT_SCOPE)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/test_headers.cc CONTENT "// Holds what is precompiled.\n")
  add_library(test_headers OBJECT ${CMAKE_BINARY_DIR}/test_headers.cc)
  target_link_libraries(test_headers PRIVATE chokepoint_settings GTest::gmock
    nlohmann_json::nlohmann_json)
  target_compile_options(test_headers PRIVATE ${CHOKEPOINT_TEST_OPTIONS})
  target_precompile_headers(test_headers PRIVATE <chrono> <expected> <functional> <memory>
    <optional> <string> <vector> <nlohmann/json.hpp> <gmock/gmock.h> <gtest/gtest.h>)
endfunction()

# The tests of one source folder, in tests/'s mirror of it. LABELS threads: it starts threads, so it
# runs under the thread sanitizer, too. WHOLE: all of them are one test, skipped where they are, for
# want of what most machines lack.
function(chokepoint_tests name)
  cmake_parse_arguments(ARG "WHOLE" "" "SOURCES;USES;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE chokepoint_settings ${ARG_USES} GTest::gmock GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${CHOKEPOINT_TEST_OPTIONS})
  if(CHOKEPOINT_PRECOMPILE)
    target_precompile_headers(${name} REUSE_FROM test_headers)
  endif()
  target_compile_definitions(${name} PRIVATE
    CHOKEPOINT_FIXTURES="${PROJECT_SOURCE_DIR}/tests/fixtures")
  if(ARG_WHOLE)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 240 LABELS "${ARG_LABELS}"
      SKIP_REGULAR_EXPRESSION "SKIPPED ")
  else()
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
      PROPERTIES TIMEOUT 240 LABELS "${ARG_LABELS}")
  endif()
  if("threads" IN_LIST ARG_LABELS)
    add_dependencies(threads ${name})
  endif()
endfunction()

add_custom_target(fuzzers)

# A libFuzzer target, its seeds in tests/fuzz/corpus/NAME. As a test it searches for
# CHOKEPOINT_FUZZ_EACH seconds (10 where that is not set), but no less than SECONDS.
function(chokepoint_fuzz name)
  if(NOT CHOKEPOINT_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "SECONDS" "SOURCES;USES" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE chokepoint_settings ${ARG_USES})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers ${name})
  add_test(NAME fuzz.${name} COMMAND ${PROJECT_SOURCE_DIR}/tests/fuzz/search
    $<TARGET_FILE:${name}> ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name} ${ARG_SECONDS})
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT 900)
endfunction()
