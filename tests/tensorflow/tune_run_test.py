# SPDX-License-Identifier: Apache-2.0
"""tune with real processes and measured rates, interrupted."""
import signal
import subprocess
import sys
import unittest

import tune_test
from support import BRIDGE, plumber_tf

values = tune_test.values


class RealTest(tune_test.TuneTest):
    def test_a_real_run_that_is_interrupted(self):
        """With processes and measured rates, until the first round has been kept."""
        command = [sys.executable, str(BRIDGE), "tune", self.source("maps"), "-o", self.output,
                   "--cores", "2", "--mem", "1G", "--seconds", "0.5", "--rate-seconds", "0.2"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            lines = [process.stdout.readline() for _ in range(3)]
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=60)
        self.assertRegex(lines[0], r"^round +rate +gain +edits$", stderr)
        self.assertRegex(lines[1], r"^ +0 .*/s +as written +-$")
        self.assertRegex(lines[2], r"^ +1 .*/s +\+[0-9.]+%  kept +.*inline")
        self.assertEqual(process.returncode, plumber_tf.EXIT_INTERRUPTED)
        self.assertIn(f"wrote {self.output}: the best measured", stderr)
        self.assertEqual(values(plumber_tf.load(self.output)),
                         values(plumber_tf.build(self.source("maps"))))


if __name__ == "__main__":
    unittest.main()
