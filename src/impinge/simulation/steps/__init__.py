"""The time stepper of models: one complementarity problem a step."""
