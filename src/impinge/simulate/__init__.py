"""Event-driven simulation, clocks, results."""

from impinge.simulate.certificate import Certificate, ContactCertificate, EnergyBalance
from impinge.simulate.clock import Clock, Controller
from impinge.simulate.method import Adaptive, FixedStep
from impinge.simulate.result import Event, Result
from impinge.simulate.run import simulate

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
    "simulate",
]
