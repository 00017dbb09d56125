"""Tables and charts of benchmark results; needs nothing beside Python.

`results` reads, merges and writes files of results, `table` prints them, `bar_chart` draws them.
As a program, python3 -m report, see __main__.py.
"""
