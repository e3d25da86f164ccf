"""Configuration: one YAML file, environment and flags, checked whole, compiled to `Rules`. [layout 4]

It knows how people write things down and where they went wrong. It does not act on any setting.
"""

from evictd.shell.configuration.compile import rules_for, rules_of, served_patterns

__all__ = ["rules_for", "rules_of", "served_patterns"]
