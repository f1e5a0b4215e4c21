"""Who may use the lab: token, Host and Origin, checked before every route.

No page of the lab and no state of a run.
"""
