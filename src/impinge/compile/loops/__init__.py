"""Hot loops written in Python → machine code, and the structs that they are given."""
