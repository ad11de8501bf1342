"""Event-driven simulation, time stepping, clocks, results."""

from impinge.simulation.certificate import Certificate, ContactCertificate, EnergyBalance
from impinge.simulation.clock import Clock, Controller
from impinge.simulation.method import Adaptive, FixedStep
from impinge.simulation.result import Event, Result
from impinge.simulation.run import simulate
from impinge.simulation.verdict import Verdict

__all__ = [
    "Adaptive",
    "Certificate",
    "Clock",
    "ContactCertificate",
    "Controller",
    "EnergyBalance",
    "Event",
    "FixedStep",
    "Result",
    "Verdict",
    "simulate",
]
