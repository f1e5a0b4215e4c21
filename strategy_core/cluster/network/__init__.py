"""The network of a run on one host: namespaces, emulated links, ports."""
