"""Commands to a run that is going on, and the widgets that send them."""
