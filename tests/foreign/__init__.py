"""Programs that know nothing of the lab, and what `strategy-lab trace` records of them."""
