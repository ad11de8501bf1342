"""Random properties: the same examples in every `make test`, new ones in every `make test-all`."""

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None)
settings.load_profile("fixed")
