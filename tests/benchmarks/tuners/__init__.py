"""Our kernels for CPUs beside those of other tuners, with the same budget, data and judge, in one process and in turns."""
