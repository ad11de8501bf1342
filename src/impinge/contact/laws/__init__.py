"""Contact laws, one file each; a new file here is a new law on the command line."""
