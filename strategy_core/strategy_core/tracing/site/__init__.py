"""The folder that `strategy-lab trace` puts on PYTHONPATH. Only `sitecustomize` belongs here."""
