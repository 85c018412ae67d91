"""What kernels of several rooms share."""
