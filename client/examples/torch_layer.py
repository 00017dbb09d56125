"""A layer of a small network, computed by kernels of mdhd:

    python3 torch_layer.py                    # with a daemon: $MDH_SERVER, else the default socket
    python3 torch_layer.py --tune 20          # tunes the layer for so many seconds first
    python3 torch_layer.py --bundle FILE      # without a daemon

Compares the results, and the times, with PyTorch's own: on the CPU, and on a GPU where there is one.
"""

import argparse
import time

import torch

import mdh
import mdh.torch

BATCH, INPUTS, HIDDEN, OUTPUTS = 256, 512, 1024, 10


class MdhLinear(torch.nn.Module):
    """torch.nn.Linear with the weights of another one, as a contraction."""

    def __init__(self, linear, contract):
        super().__init__()
        self.weight, self.bias, self.contract = linear.weight, linear.bias, contract

    def forward(self, x):
        return self.contract(x, self.weight) + self.bias


def seconds(function, device):
    """The fastest of several runs."""
    times = []
    for _ in range(20):
        begin = time.perf_counter()
        function()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return min(times)


def compare(contract, device):
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Linear(INPUTS, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, OUTPUTS))
    network = network.to(device)
    replaced = torch.nn.Sequential(MdhLinear(network[0], contract), *network[1:])
    x = torch.randn(BATCH, INPUTS, device=device)
    expected, result = network(x), replaced(x)
    torch.testing.assert_close(result, expected, rtol=1e-3, atol=1e-3)
    wanted = torch.autograd.grad(expected.sum(), network[0].weight)[0]
    gradient = torch.autograd.grad(result.sum(), network[0].weight)[0]
    torch.testing.assert_close(gradient, wanted, rtol=1e-3, atol=1e-3)
    with torch.no_grad():
        theirs = seconds(lambda: network[0](x), device)
        ours = seconds(lambda: replaced[0](x), device)
    print(f"{device}: results and gradients agree; the layer takes {ours * 1e6:.0f} us, PyTorch's "
          f"{theirs * 1e6:.0f} us: {theirs / ours:.2f} times as fast")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bundle", help="a file of mdh admin export")
    parser.add_argument("--tune", type=float, default=0, metavar="SECONDS")
    options = parser.parse_args()
    layer = mdh.einsum("bi,oi->bo", b=BATCH, i=INPUTS, o=HIDDEN)
    bundle = mdh.Bundle(options.bundle) if options.bundle else None
    client = None if bundle else mdh.Client()
    devices = ["cpu"] + (["cuda"] if torch.cuda.is_available() and not bundle else [])
    for device in devices:
        if client and options.tune:
            name = "devices/cuda0" if device == "cuda" else "devices/cpu"
            tuned = client.tune(layer, budget_seconds=options.tune, devices=[name])
            print(f"{device}: tuned to {tuned.time_ns / 1e3:.0f} us in {tuned.trials} trials")
        if bundle:  # it has the layer alone, and not what its gradients need
            contract = mdh.torch.einsum("bi,oi->bo", bundle=bundle, client=None)
            x, weight = torch.randn(BATCH, INPUTS), torch.randn(HIDDEN, INPUTS)
            torch.testing.assert_close(contract(x, weight), x @ weight.T, rtol=1e-3, atol=1e-3)
            print("cpu: results agree")
        else:
            compare(mdh.torch.einsum("bi,oi->bo", client=client), device)


if __name__ == "__main__":
    main()
