// A diagnosis in plain words. Every text for people about a class, a cause or an account stands in
// sentences.cc, in one table each, so that pages and reports say the same. Pure functions.
#pragma once

#include <string>

#include "analysis/attribution/diagnosis.h"

namespace chokepoint::analysis {

// "the link from a to b is full"; of a cause that the table does not know, what its class says.
std::string sentence_of(const Verdict& verdict);
// Of its verdict; where no time could be accounted for, none is said to be lost.
std::string sentence_of(const Diagnosis& diagnosis);

// Where time goes, to stand behind an amount of it: "60 computing", "143 link full".
const char* words_of(Account account);

}  // namespace chokepoint::analysis
