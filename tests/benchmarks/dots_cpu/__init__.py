"""Products of bf16 and of bytes on a CPU's dot instructions, beside oneDNN."""
