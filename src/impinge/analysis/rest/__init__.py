"""Rest states: what forces hold them, and the nearest one."""
