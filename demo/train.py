#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""Train the digit classifier of `make demo`; run by hand, outputs committed.

    python3 -m venv venv
    venv/bin/pip install torch scikit-learn onnx onnxscript safetensors
    venv/bin/python demo/train.py

Data: the 1797 handwritten digits (8x8) that scikit-learn ships. Writes, all
beside this script:

    digits.onnx             the architecture, default export (batch norm folded)
    digits.pt2              the same through torch.export
    epochN.safetensors      the state_dict after N epochs
    test.npz                held-out digits `image` f32[N,1,8,8], `label` i64[N]
    expected.json           PyTorch's accuracy and predictions per checkpoint

Both model files carry the weights of epoch 1. Everything is seeded; another
PyTorch version may still give other last bits, so commit all files together.
"""
import json
import os

import numpy as np
import onnx
import torch
from safetensors.torch import save_file
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
EPOCHS = (1, 2, 5, 20)
SEED = 7


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(32)
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(32 * 2 * 2, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, image):
        x = self.pool(torch.relu(self.bn1(self.conv1(image))))
        x = self.pool(torch.relu(self.bn2(self.conv2(x))))
        x = torch.relu(self.fc1(torch.flatten(x, 1)))
        return self.fc2(x)


def path(name):
    return os.path.join(HERE, name)


def data():
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)[:, None]
    parts = train_test_split(images, digits.target.astype(np.int64),
                             test_size=400, random_state=SEED,
                             stratify=digits.target)
    train_x, test_x, train_y, test_y = (np.ascontiguousarray(p) for p in parts)
    return train_x, train_y, test_x, test_y


def train_epoch(model, optimizer, x, y):
    model.train()
    for batch in torch.randperm(len(x)).split(64):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
        optimizer.step()


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        guess = model(x).argmax(1)
    return {"correct": int((guess == y).sum()), "total": len(y),
            "accuracy": float((guess == y).double().mean()),
            "predictions": "".join(str(int(g)) for g in guess)}


def export(model):
    """Default exports, dynamic batch."""
    model.eval()
    example = (torch.zeros(2, 1, 8, 8),)
    batch = {0: torch.export.Dim("N", min=1, max=4096)}
    program = torch.onnx.export(model, example, dynamo=True,
                                input_names=["image"],
                                output_names=["logits"],
                                dynamic_shapes=(batch,))
    proto = program.model_proto
    for node in proto.graph.node:
        strip_traces(node.metadata_props)
    onnx.save(proto, path("digits.onnx"))

    program = torch.export.export(model, example, dynamic_shapes=(batch,))
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)
    torch.export.save(program, path("digits.pt2"))


def strip_traces(props):
    """Stack traces name folders of this machine; nothing reads them."""
    kept = [p for p in props if "stack_trace" not in p.key]
    del props[:]
    props.extend(kept)


def main():
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    train_x, train_y, test_x, test_y = data()
    np.savez(path("test.npz"), image=test_x, label=test_y)
    model = Digits()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    x, y = torch.from_numpy(train_x), torch.from_numpy(train_y)
    tx, ty = torch.from_numpy(test_x), torch.from_numpy(test_y)
    expected = {}
    for epoch in range(1, max(EPOCHS) + 1):
        train_epoch(model, optimizer, x, y)
        if epoch not in EPOCHS:
            continue
        name = f"epoch{epoch}.safetensors"
        save_file({k: v.contiguous() for k, v in model.state_dict().items()},
                  path(name))
        os.chmod(path(name), 0o644)
        expected[name] = evaluate(model, tx, ty)
        print(name, expected[name]["accuracy"])
        if epoch == EPOCHS[0]:
            export(model)
    with open(path("expected.json"), "w", encoding="ascii") as f:
        json.dump(expected, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
