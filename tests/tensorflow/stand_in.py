# SPDX-License-Identifier: Apache-2.0
"""Programs that run in the test's own process, for tests of tuning: a real one takes seconds to
start. Their rates are given, so that what is kept and undone does not depend on the machine."""
from support import plumber_tf, record


class InProcess:
    """Stands for a plumber_tf.Program."""

    def __init__(self, side, arguments=(), **how):
        self.side, self.how = side, how
        self.dataset = plumber_tf.open_side(side, arguments)
        self._again = lambda: InProcess(side, arguments, **how)

    def again(self):
        return self._again()

    def open(self):
        pass

    def digests(self, **limits):
        try:
            return plumber_tf._digests(self.dataset, limits)
        except Exception as error:  # as the child says it
            raise plumber_tf.ProgramError(self, str(error)) from error

    def cardinality(self):
        return int(self.dataset.cardinality())

    def fixed_form(self):
        return plumber_tf.fixed_form(self.dataset)

    def write(self, path):
        plumber_tf._write(path, plumber_tf.serialize(self.dataset).SerializeToString())

    def record(self, path, _):
        return record(self.dataset, 0.2, path).warnings

    def close(self, **_):
        pass


    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class ScriptedTuner(plumber_tf.Tuner):
    """Each round's candidate runs so many times as fast as the best so far; the last number stands
    for all that follow."""

    def __init__(self, *arguments, speeds=(2,), **how):
        self.said = []
        super().__init__(*arguments, **{"say": self.said.append, **how})
        self.speeds = list(speeds)
        self.candidates = []

    def open(self, candidate):
        return InProcess(candidate.side, self.arguments)

    def measure(self, candidate):
        self.candidates.append(candidate)
        return super().measure(candidate)

    def _rates(self, programs, fills):
        speed = self.speeds.pop(0) if len(self.speeds) > 1 else self.speeds[0]
        return [[100.0] * 5, *([100.0 * speed] * 5 for _ in programs[1:])]
