"""The engine: one protocol, and toolglot's own thin implementation of it."""
