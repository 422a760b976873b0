#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""Writes random.pt2: operators that draw random numbers. Run by hand, with PyTorch."""
import torch


class Draws(torch.nn.Module):
    def forward(self, x):
        a = torch.ops.aten
        return (a.rand_like.default(x), a.randn.default([4000]),
                a.randint.low(3, 7, [4000]), a.randperm.default(64),
                a.bernoulli.p(x, 0.25), a.dropout.default(x, 0.5, True),
                a.multinomial.default(x[:8], 8, False))


x = torch.ones(4000)
program = torch.export.export(Draws(), (x,))
for node in program.graph.nodes:
    node.meta.pop("stack_trace", None)  # it names this machine's folders
torch.export.save(program, "tests/data/random.pt2")
