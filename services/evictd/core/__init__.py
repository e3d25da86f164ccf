"""Decisions only: `step(rules, state, given, now) -> (state, effects)`.

Nothing here reads a clock, a file or the network, logs, waits or draws random numbers; whatever a
decision needs is handed in, and whatever it wants done goes out as a value. Worker, dry run,
replay, simulation and test vectors run these same functions. [design, law 1]

- `signals`: quantities, thresholds and what they are measured against
- `admission`: what an object of the protocol may say, and what may change in it
- `evaluation`: which thresholds are met and which conditions hold (evaluator)
- `decision`: what to reclaim, who goes next and why (evictor)
- `protocol`: EvictionRequests, Evictions and their chain of responders (controller)
- `duty`: the built-in responder that stops workloads (responder)
"""
