"""Cases that nobody has chosen: families of computations, drawn from a seed.

`draws` are the random numbers; `contractions`, `windows` and `rows` define computations (the text
of the expression, the buffers, what numpy and PyTorch compute, the peers) and draw them;
`families` has the table of families and draws a sample. A case is decided by its seed, its number,
the families and the limits, whatever Python or machine it is drawn on.
"""
