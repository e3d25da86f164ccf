"""The responders of evictd. `service` is the built-in one that stops workloads through a runtime.

Importing this package loads no runtime and no worker: authors of responders of their own stand on
it.
"""
