# SPDX-License-Identifier: Apache-2.0
"""The JSON of `plumber cluster` keeps to its schemas in schemas/."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "testdata/cluster"
sys.path.insert(0, str(ROOT / "tests/support"))
import json_schema  # noqa: E402  (found by the line above)

PLUMBER = os.environ.get("PLUMBER", str(ROOT / "build/dev/apps/plumber"))
MODELS = ("resnet18", "resnet50", "transformer", "imagenet")
OBJECTIVES = ("time", "cost", "knee", "cost-time")
STATE = {"policy": "partial", "workers": [8, 16], "batches": [512, 1024], "usd_per_hour": 0.134,
         "job": {"samples": 50000}}


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def document(*arguments):
    done = subprocess.run([PLUMBER, "-q", "cluster", *map(str, arguments), "--format", "json"],
                          capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise AssertionError(f"{arguments}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout, parse_constant=refuse_constant)


class ClusterSchemas(unittest.TestCase):
    def check(self, command, *arguments):
        schema = json.loads((ROOT / f"schemas/cluster_{command}.schema.json").read_text())
        found = document(command, *arguments)
        self.assertEqual(list(json_schema.errors(found, schema)), [])
        return found

    def fit(self, folder, model):
        path = Path(folder) / f"{model}.json"
        runs = DATA / (f"{model}_profiles.csv" if model == "imagenet" else f"{model}_runs.csv")
        found = self.check("fit", runs, "--job", DATA / f"{model}_job.json")
        path.write_text(json.dumps(found))
        return path

    def test_noise(self):
        self.check("noise", DATA / "norms.csv")
        self.check("noise", DATA / "workers.log", DATA / "chief.log")
        self.check("noise", DATA / "fig6_resnet18_K8.csv", "--workers", "8")

    def test_fit_and_plan(self):
        with tempfile.TemporaryDirectory() as folder:
            for model in MODELS:
                path = self.fit(folder, model)
                for objective in OBJECTIVES:
                    with self.subTest(model=model, objective=objective):
                        plan = self.check("plan", path, "--price", "0.134",
                                          "--objective", objective)
                        chosen = [one for one in plan["candidates"] if one["is_choice"]]
                        self.assertEqual(len(chosen), 1)
                        self.assertEqual(chosen[0] | plan["choice"], chosen[0])
                self.check("plan", path, "--price", "0.134", "--max-cost", "0.01")

    def test_interruptions(self):
        with tempfile.TemporaryDirectory() as folder:
            runs = Path(folder) / "runs.csv"
            runs.write_text("workers,global_batch,iteration_s,epochs,restarts\n"
                            "8,384,1.5,230,9\n8,1024,3.6,180,\n16,384,0.9,230,\n16,1024,2,180,\n")
            prices = Path(folder) / "prices.csv"
            prices.write_text("name,usd_per_hour,usd_per_hour_spot\nbig,1,0.3\n")
            model = Path(folder) / "model.json"
            model.write_text(json.dumps(
                self.check("fit", runs, "--job", DATA / "resnet18_job.json")))
            plan = self.check("plan", model, "--prices", prices, "--spot", "--restart", "3min")
            self.assertEqual(plan["spot"]["source"], "runs")
            self.assertGreater(plan["spot"]["interruptions_per_machine_hour"], 0)

    def test_next(self):
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder) / "store"
            store.mkdir()
            self.fit(store, "resnet18")
            state = Path(folder) / "state.json"
            for policy in ("partial", "full", "none"):
                with self.subTest(policy=policy):
                    state.write_text(json.dumps(STATE | {"policy": policy}))
                    self.check("next", state, "--store", store)
            self.check("next", DATA / "search_state.json")


if __name__ == "__main__":
    unittest.main()
