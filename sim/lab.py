"""The lab: a plant with a simulated device for everything that the testbed has."""

from __future__ import annotations

import numpy as np

from granite.config.testbed import Testbed
from granite.drivers.device_set import DeviceSet
from granite.sim.grips import SimulatedGrips
from granite.sim.joint_sensors import SimulatedJointSensors
from granite.sim.motors import SimulatedMotors
from granite.sim.plant import Plant
from granite.sim.thrusters import SimulatedThrusters
from granite.sim.vision import SimulatedVision


def build_lab(bed: Testbed) -> tuple[Plant, DeviceSet]:
    """The plant and its devices. Whichever device is asked first at time t lets the plant go on to t."""
    plant, devices = Plant(bed), bed.devices
    # One stream of random numbers per device, so that none disturbs the draws of another.
    joints, vision = (np.random.default_rng(s) for s in np.random.SeedSequence(bed.seed).spawn(2))
    return plant, DeviceSet(
        bed,
        joint_sensors=SimulatedJointSensors(bed, plant, joints) if devices.joint_sensors else None,
        vision=SimulatedVision(bed, plant, vision) if devices.vision else None,
        motors=SimulatedMotors(bed, plant) if devices.motors else None,
        thrusters=SimulatedThrusters(bed, plant) if devices.thrusters else None,
        grips=SimulatedGrips(bed, plant, plant.contacts) if plant.contacts and bed.grips else None,
    )
