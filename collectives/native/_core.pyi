"""The compiled module's functions, for type checkers; what they mean is told in native/src."""
