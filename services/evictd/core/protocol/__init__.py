"""EvictionRequests, Evictions and their chain of responders: the controller's decision.

- `advance`: the step, over `steadiness`, `intake`, `requests`, `evictions`, `links`, `collection`
- `case`, `inputs`, `policy`, `vocabulary`: its state, what it is given, its switches, its words
- `facts`, `chain`, `progression`, `patience`: the target, who runs when, and for how long
- `requesters`, `wishes`, `acceptance`, `validation`: what is asked for and whether it can be done
- `conditions`, `relevance`, `naming`, `labels`: what is written
- `reports`: what responders say; `announcement`: what the world is told
- `prospect`: what an Eviction would go through if it were made now

It knows no bus and no clock. [eviction-request-api 5] [contract 3]
"""
