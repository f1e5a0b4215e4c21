"""The key numbers of a run to an OpenTelemetry collector: an export. Nothing else imports it."""
