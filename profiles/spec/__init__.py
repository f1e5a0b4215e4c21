"""RunSpec, the request for a run: its fields, its checks, and specs that other versions stored."""
