"""Every door of the lab, listed from its code, with the guard of each and what is tried at it.

A new option, route, tool, environment variable, input of a page or opened file fails here until it
has a guard in the tables of these tests.
"""
