"""Where guards fall inside a step, and the proof that no gap closes unseen."""
