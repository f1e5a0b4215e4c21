"""The verb and the page What if: predicted steps, the critical path, differences of replicas."""
