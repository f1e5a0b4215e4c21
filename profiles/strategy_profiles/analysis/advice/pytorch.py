"""What to try in PyTorch, by the key of a finding: the rules' own advice is for TensorFlow."""

REMEDIES = {
    "input-bound": (
        "Prepare batches ahead in other processes: DataLoader(num_workers=..., "
        "prefetch_factor=..., pin_memory=True), or do less for each example."
    ),
    "idle": (
        "Open a captured step on the Timeline page and look at the ops before and after the gap, "
        "and at the host's threads meanwhile. If they launch kernels all the time, launch fewer "
        "and larger ones (torch.compile, CUDA graphs)."
    ),
    "many-small-collectives": (
        "Reduce larger tensors at a time: raise bucket_cap_mb of DistributedDataParallel, or give "
        "each step more work."
    ),
    "small-ops": "Launch fewer and larger kernels: torch.compile, CUDA graphs, or a larger batch.",
}
