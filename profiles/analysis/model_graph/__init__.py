"""The model's graph by layers, as its ops were placed, and the transfers between devices."""
