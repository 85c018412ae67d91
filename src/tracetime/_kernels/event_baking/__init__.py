"""Kernels of event baking: packets for events of traces that are not Perfetto's."""
