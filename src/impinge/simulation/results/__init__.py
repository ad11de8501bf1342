"""What a run records, observes and judges, and the result that it returns."""
