"""Contacts of shapes event by event: what touches, its gap and slips with their rates, and when it is exchanged."""
