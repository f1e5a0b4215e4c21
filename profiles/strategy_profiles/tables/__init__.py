"""The tables of a run and SQL over them; `schema` defines each column.

No analysis: a table holds what was recorded, and what one row of it implies.
"""
