"""The simulated lab: the plant, its table, and every device with its imperfections, behind the driver contract."""

#: the simulated device of each kind
KINDS = {
    "joint_sensors": "devices.joint_sensors:SimulatedJointSensors",
    "tachometers": "devices.joint_sensors:SimulatedTachometers",
    "vision": "devices.vision:SimulatedVision",
    "camera": "camera.device:SimulatedCamera",
    "gyro": "devices.gyro:SimulatedGyro",
    "accelerometer": "devices.accelerometer:SimulatedAccelerometer",
    "pressure": "devices.pressure:SimulatedPressure",
    "force_gauges": "devices.force_gauges:SimulatedForceGauges",
    "strain_gauges": "devices.strain_gauges:SimulatedStrainGauges",
    "motors": "devices.motors:SimulatedMotors",
    "momentum_wheel": "devices.momentum_wheel:SimulatedMomentumWheels",
    "reaction_wheel": "devices.momentum_wheel:SimulatedMomentumWheels",
    "thrusters": "devices.thrusters:SimulatedThrusters",
    "grips": "devices.grips:SimulatedGrips",
    "photodiode": "devices.photodiode:SimulatedPhotodiode",
    "emergency_stop": "devices.emergency_stop:SimulatedEmergencyStop",
}
