"""Who may use the lab:

the token, Host and Origin, checked before every route. No page lives here.
"""
