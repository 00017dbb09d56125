"""TeML kernels beside their paths."""
