"""Rules about values: every function gives all broken rules at once, with kind and path.

- `names`: formats of names and uids, reserved domains
- `objects`: requests, Evictions, the responders that a pod declares
- `conditions`, `entries`, `statuses`: statuses, and the state machine of the chain
- `messages`: what arrives on the bus for the controller

It decides nothing but whether a write may be taken. [eviction-request-api 2, 4] [contract 1]
"""
