"""The live trial over HTTP: one process, one writer, replies only after what they say is on disk."""
