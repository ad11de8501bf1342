"""What a controller is to follow."""
