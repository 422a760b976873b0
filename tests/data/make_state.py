#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""Makes tests/data/state.pt2: a model that mutates a buffer (acc += sum(fc(x));
returns 2 * acc), for tests/unit/test_state.c. Run by hand with PyTorch; prints
the outputs of three runs on x = arange(6)/3."""
import json
import os
import zipfile

import torch


class Accumulate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 4)
        self.register_buffer("acc", torch.full((4,), 0.5))

    def forward(self, x):
        self.acc.add_(self.fc(x).sum(0))
        return self.acc * 2


def without_metadata(path):
    """Drops stack traces: they hold the paths of the exporting machine."""
    with zipfile.ZipFile(path) as z:
        members = [(n, z.read(n)) for n in z.namelist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as z:
        for name, data in members:
            if "/models/" in name:
                model = json.loads(data)
                for node in model["graph_module"]["graph"]["nodes"]:
                    node["metadata"] = {}
                data = json.dumps(model).encode()
            if "sample_inputs" not in name:
                z.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)


def main():
    torch.manual_seed(1)
    model = Accumulate().eval()
    path = os.path.join(os.path.dirname(__file__), "state.pt2")
    with torch.no_grad():
        torch.export.save(torch.export.export(model, (torch.randn(2, 3),)),
                          path)
        without_metadata(path)
        x = torch.arange(6).float().reshape(2, 3) / 3
        for _ in range(3):
            print([f"{v:.9g}" for v in model(x).tolist()])


if __name__ == "__main__":
    main()
