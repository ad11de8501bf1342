"""The study that compares all laws."""
