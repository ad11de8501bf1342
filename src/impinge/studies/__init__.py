"""Experiments: parameters, run, figure and a paper's claims. A new file here is a new study.

A user's own study is a Python file that ends with ``study = Study(...)``.
"""

from impinge.studies.study import Claim, Outcome, Parameter, Progress, Study

__all__ = ["Claim", "Outcome", "Parameter", "Progress", "Study"]
