"""What the built-in responder does about its own Active entry: stop one workload, once."""
