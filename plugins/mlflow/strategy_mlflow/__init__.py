"""The key numbers of a run as a run of MLflow: an export. Nothing else imports this package."""
