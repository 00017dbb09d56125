// Texts of the front ends, with inputs and what somebody else computes of them.
#pragma once

#include <string>
#include <vector>

#include "tests/property/block_backend.h"

namespace mdh {

// The paths of all texts of a folder, in the order of their names: files of the text form, of TeML,
// and .pb, the messages that the Python package makes of functions; loops of C as `mdh print`
// prints them, whose libclang cannot be in one process with PoCL's. Each has a file beside it that
// ends in .values, with a line for every input, "in NAME VALUE...", and every output, "out NAME
// VALUE...", in the order of memory. "-" stands for an element that nobody writes.
std::vector<std::string> TextsOf(const std::string& folder);

// Reads a text by its front end and compares what the interpreter makes of it with the values, bit
// by bit; of TeML the interpreter of its loops, too. Then the kernel from rules with the
// interpreter, as JudgedBackend::Judge says. "" or what is wrong, for people.
std::string JudgeText(JudgedBackend& backend, const std::string& path);

}  // namespace mdh
