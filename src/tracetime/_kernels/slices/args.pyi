# Nothing for Python: kernels that log slices use it.
