"""Controllers and filters that know no robot."""
