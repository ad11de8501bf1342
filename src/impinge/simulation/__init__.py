"""Event-driven simulation, time stepping, clocks, results."""

from impinge.simulation.clock import Clock, Controller
from impinge.simulation.integrate.method import Adaptive, FixedStep
from impinge.simulation.results.certificate import Certificate, ContactCertificate, EnergyBalance
from impinge.simulation.results.result import Event, Result
from impinge.simulation.results.verdict import Verdict
from impinge.simulation.run import simulate

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
