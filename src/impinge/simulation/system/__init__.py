"""What a run needs of a system: interface, tables, memory, right-hand side."""
