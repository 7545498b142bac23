"""Sources and sinks by name."""
