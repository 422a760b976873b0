#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""Exports the models of scripts/bench.py: bench_export.py FOLDER NAME...

Architectures as their packages define them, random weights from a fixed seed
(the time of a dense kernel does not depend on the values; nothing is
downloaded). Per model NAME, written to FOLDER:
  NAME.onnx, NAME.pt2         the same network, weights inside
  NAME.npz                    input_0, output_0: PyTorch's answer
  NAME.a.safetensors          the weights of both files
  NAME.b.safetensors          others, of seed 1, to refit to
Run by the Python of build/bench-venv, which has the packages.
"""
import os
import sys
import warnings

import numpy as np
import torch
from safetensors.torch import save_file

IMAGE = 224
TOKENS = 128


def image_model(name):
    import torchvision
    return getattr(torchvision.models, name)()


class Bert(torch.nn.Module):
    """BERT-base without its pooler, full attention mask: one input."""

    def __init__(self):
        from transformers import BertConfig, BertModel
        super().__init__()
        self.m = BertModel(BertConfig(), add_pooling_layer=False)

    def forward(self, ids):
        return self.m(input_ids=ids).last_hidden_state


class Gpt2(torch.nn.Module):
    """GPT-2 (124M): logits of every token, no cache of keys."""

    def __init__(self):
        from transformers import GPT2Config, GPT2LMHeadModel
        super().__init__()
        self.m = GPT2LMHeadModel(GPT2Config(use_cache=False))

    def forward(self, ids):
        return self.m(input_ids=ids, use_cache=False).logits


def pixels(batch):
    return torch.randn(batch, 3, IMAGE, IMAGE)


def tokens(batch):
    return torch.randint(0, 30000, (batch, TOKENS))


# name: constructor, input, batch
MODELS = {
    "resnet18": (lambda: image_model("resnet18"), pixels, 1),
    "resnet50": (lambda: image_model("resnet50"), pixels, 1),
    "mobilenet": (lambda: image_model("mobilenet_v3_large"), pixels, 1),
    "vit": (lambda: image_model("vit_b_16"), pixels, 1),
    "bert": (Bert, tokens, 1),
    "gpt2": (Gpt2, tokens, 1),
    "resnet50x8": (lambda: image_model("resnet50"), pixels, 8),
    "bertx8": (Bert, tokens, 8),
}


def make(build, seed):
    """Weights as the package makes them, but for those that are all the same
    (zero biases, unit scales, ViT's zero head, fresh batch norms): they get
    noise, or forgetting one would not show in the outputs."""
    torch.manual_seed(seed)
    model = build().eval()
    with torch.no_grad():
        for p in model.parameters():
            if p.numel() > 1 and bool((p == p.flatten()[0]).all()):
                p.add_(0.02 * torch.randn_like(p))
    for m in model.modules():
        if isinstance(m, torch.nn.BatchNorm2d):
            m.running_mean.normal_(0, 0.1)
            m.running_var.uniform_(0.5, 1.5)
    return model


def checkpoint(model, path):
    tensors = {k: v.clone().contiguous() for k, v in
               model.state_dict().items() if not k.endswith("tracked")}
    save_file(tensors, path)


def export(folder, name):
    build, make_input, batch = MODELS[name]
    model = make(build, 0)
    torch.manual_seed(100)
    x = (make_input(batch),)
    base = os.path.join(folder, name)
    with torch.no_grad():
        torch.export.save(torch.export.export(model, x, strict=False),
                          base + ".pt2")
        torch.onnx.export(model, x, dynamo=True, verbose=False).save(
            base + ".onnx", external_data=False)
        y = model(*x)
    checkpoint(model, base + ".a.safetensors")
    checkpoint(make(build, 1), base + ".b.safetensors")
    # Last: the mark that the others are whole.
    np.savez(base + ".part.npz", input_0=x[0].numpy(), output_0=y.numpy())
    os.replace(base + ".part.npz", base + ".npz")


def main():
    warnings.filterwarnings("ignore")
    folder, names = sys.argv[1], sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    for name in names:
        export(folder, name)
        print(f"exported {name}", flush=True)


if __name__ == "__main__":
    main()
