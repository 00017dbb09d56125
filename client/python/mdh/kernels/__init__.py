"""What runs generated kernels in this process: loading, compiling, launching."""
