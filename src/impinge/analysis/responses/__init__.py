"""Poles, zeros, frequency responses and margins."""
