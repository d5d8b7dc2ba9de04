"""The laws of DESIGN, L0 to L7, one class each."""
