"""What is measured: the systems, for impinge and for its peers, and the loops that run them."""
