"""Built-in workloads: one file each, such as a user could have written. Only those live here."""
