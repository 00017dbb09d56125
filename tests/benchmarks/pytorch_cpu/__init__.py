"""Our kernels for CPUs beside PyTorch, eager and compiled, in one process and in turns."""
