# SPDX-License-Identifier: Apache-2.0
"""The layer check on small files: what it lets through, and what it must not."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import check_layers  # noqa: E402 (from the folder above)

DIAGRAM = """
function(plumber_module name)
endfunction()
plumber_module(base LINK fmt::fmt)
plumber_module(trace USES base LINK plumber_schemas)
plumber_module(lp USES base LINK GLPK::GLPK)
plumber_module(optimize USES trace lp)
"""


class Layers(unittest.TestCase):
    def setUp(self):
        self.allowed = check_layers.read_modules(DIAGRAM)

    def problems(self, path, line):
        return list(check_layers.check_file(path, line, self.allowed))

    def test_the_diagram_is_closed_under_use(self):
        self.assertEqual(self.allowed, {
            "base": {"base"}, "trace": {"trace", "base"}, "lp": {"lp", "base"},
            "optimize": {"optimize", "trace", "lp", "base"}})

    def test_includes_with_the_arrow_pass(self):
        for path, line in [("lib/optimize/a.cc", '#include "base/error.h"'),
                           ("lib/lp/glpk_solver.cc", "#include <glpk.h>"),
                           ("apps/main.cc", '#include "lp/solution.h"'),
                           ("lib/lp/a.cc", "#include <vector>"),
                           ("lib/lp/a.cc", 'std::snprintf(a, 1, "x");  // no printf()')]:
            self.assertEqual(self.problems(path, line), [], line)

    def test_breaches_are_named(self):
        for path, line in [("lib/lp/a.cc", '#include "trace/read.h"'),
                           ("tests/unit/lp/a_test.cc", '#include "trace/read.h"'),
                           ("lib/lp/linear_program.cc", "#include <glpk.h>"),
                           ("lib/trace/a.cc", "#include <spdlog/spdlog.h>"),
                           ("lib/optimize/a.h", '#include "graph.pb.h"'),
                           ("lib/lp/a.cc", "std::cout << 1;"),
                           ("lib/lp/a.cc", 'printf("x");'),
                           ("lib/lp/a.cc", "std::exit(1);"),
                           ("lib/lp/a.cc", 'std::getenv("HOME");'),
                           ("lib/lp/a.cc", "std::chrono::steady_clock::now();")]:
            self.assertEqual(len(self.problems(path, line)), 1, line)

    def test_protobuf_is_found_through_headers(self):
        texts = {"lib/lp/a.cc": '#include "trace/wire.h"', "lib/trace/wire.h": '#include "t.pb.h"'}
        self.assertEqual(check_layers.protobuf_through("lib/lp/a.cc", texts),
                         ["lib/trace/wire.h", "t.pb.h"])

    def test_a_source_that_no_list_names(self):
        lists = {"lib": "set(lp_sources\n    lp/a.cc\n    lp/b.cc)"}
        paths = ["lib/lp/a.cc", "lib/lp/a.h", "lib/lp/b.cc", "lib/lp/c.cc", "tests/unit/lp/d.cc"]
        self.assertEqual(list(check_layers.check_lists(paths, lists)),
                         ["lib/lp/c.cc: not listed in CMake: it is not compiled"])

    def test_two_types_of_one_name_are_named(self):
        headers = {"lib/lp/a.h": "struct Row {\n};\nenum class Kind { kA };\n",
                   "lib/report/b.h": "struct Row {\n};\nstruct Column;\n",
                   "lib/lp/c.h": "struct Column {\n  struct Row* row;\n};\n"}
        self.assertEqual(
            list(check_layers.check_type_names(headers)),
            ["lib/report/b.h: 'Row' is a type in lib/lp/a.h already; name it otherwise"])


if __name__ == "__main__":
    unittest.main()
