"""What a collector reads of its machine, one source a file.

A source is a plain function that blocks and returns values; the collector runs it away from the
event loop, with a deadline. It knows files and figures, and nothing of the bus, of thresholds or of
time. What is not there is None; what the machine refuses or what makes no sense is a `HostError`.
"""
