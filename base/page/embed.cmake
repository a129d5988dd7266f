# Makes OUTPUT, a source that holds SCRIPT and STYLE, for page.h. Written anew only where it would
# differ, so that nothing is compiled in vain.
foreach(part SCRIPT STYLE)
  file(READ ${${part}} ${part}_TEXT)
  string(FIND "${${part}_TEXT}" ")chokepoint\"" ends)
  if(NOT ends EQUAL -1)
    message(FATAL_ERROR "${${part}} holds what would end it")
  endif()
endforeach()
file(WRITE ${OUTPUT}.new "#include \"base/page/page.h\"

// Longer than every compiler must take; ours do.
#pragma GCC diagnostic ignored \"-Woverlength-strings\"

namespace chokepoint::page {

std::string_view page_script() {
  return R\"chokepoint(${SCRIPT_TEXT})chokepoint\";
}

std::string_view page_style() {
  return R\"chokepoint(${STYLE_TEXT})chokepoint\";
}

}  // namespace chokepoint::page
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
