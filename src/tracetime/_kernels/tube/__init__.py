"""Kernels of the tube: exact bars, their inverse, the estimate."""
