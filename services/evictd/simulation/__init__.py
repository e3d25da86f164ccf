"""Machines that are not there: for `evictd demo`, for simulation and for seeded tests.

A simulated machine is a runtime and a source of observations; every decision about it is taken by
the real workers over the real router. Nothing here decides.
"""
