"""The tasks of a cluster as Slurm, Kubernetes and Compute Engine know them."""
