"""The lab in the browser: it draws and asks, and never measures or computes."""
