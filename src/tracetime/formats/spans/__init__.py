"""Spans of distributed traces in JSON: OpenTelemetry's (OTLP) and Jaeger's."""
