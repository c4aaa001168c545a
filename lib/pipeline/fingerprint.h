// SPDX-License-Identifier: Apache-2.0
// Which program a plan belongs to: 64 bits over what plans refer to, as 16 hex digits. In it: the
// main graph's nodes by name, with op, inputs, scalar integer and bool constants and the functions
// they name; the library's functions by name, with the ops of their nodes. Not in it: handles of
// resources, seeds' generators, metadata and Options, which change from one recording of a program
// to the next. FNV-1a: h = (h xor byte) * 0x100000001b3, from 0xcbf29ce484222325.
#pragma once

#include <string>

namespace tensorflow {
class GraphDef;
}

namespace plumber {

std::string graph_fingerprint(const tensorflow::GraphDef& graph);

/// The same over all bytes of the program: names of files, constants, what functions compute. What
/// is kept on disk for a program is kept under this.
std::string program_hash(const tensorflow::GraphDef& graph);

}  // namespace plumber
