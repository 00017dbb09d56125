"""deploy/bench gpu: tunes every case on a GPU and measures it beside what users would call instead.

The pipeline: `cases` says what is measured, `service` runs a daemon that tunes, `worker` (a process
of its own, with PyTorch) measures kernels and peers on the same data, `row` compares, and the
package `report` beside this one makes tables and charts. `benchmark` goes through the cases.
"""
