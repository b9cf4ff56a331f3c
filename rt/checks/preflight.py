"""The checks before a run arms: devices are opened, observed at rest for a moment, judged, and closed again."""

from __future__ import annotations

from granite.config.records import Frame, Sample
from granite.config.testbed import Testbed
from granite.controllers.stack import build_stack
from granite.drivers.device_set import DeviceSet
from granite.rt.checks.preflight_checks import CheckResult, actuator_findings, agreement, sensor_findings
from granite.rt.loop.clock import Clock

#: how long devices are observed [s]
_OBSERVED_S = 1.5


def preflight(bed: Testbed, devices: DeviceSet, clock: Clock) -> list[CheckResult]:
    """Check every device and their agreement; no command that acts is sent, and nothing is armed.

    Parameters
    ----------
    bed
        The testbed.
    devices
        Of no run: they are opened and closed here.
    clock
        The real clock.

    Returns
    -------
    list
        Every finding; the run must not start unless all of them hold.
    """
    refused = devices.open_each()
    findings = [
        CheckResult(name, "describes itself", name not in refused, refused.get(name) or devices.identity(name))
        for name in (*bed.sensors, *bed.actuators)
    ]
    try:
        if not refused:
            samples, observed = _observe(bed, devices, clock)
            for name in bed.sensors:
                findings += sensor_findings(bed, name, samples)
            for i, name in enumerate(bed.actuators):
                findings += actuator_findings(bed, name, [frames[i] for frames in observed])
            if bed.controller is not None and all(finding.passed for finding in findings):
                findings += agreement(bed, build_stack(bed).estimator, samples)
    finally:
        not_closed = devices.close(paced=True)
    return [*findings, *(CheckResult(name, "closes", False, why) for name, why in not_closed.items())]


def _observe(bed: Testbed, devices: DeviceSet, clock: Clock) -> tuple[list[Sample], list[list[Frame | None]]]:
    """Read for a while at the rate of the loop."""
    samples: list[Sample] = []
    observed: list[list[Frame | None]] = []
    clock.start()
    for k in range(max(round(_OBSERVED_S / bed.loop.period_s), 20)):
        t = k * bed.loop.period_s
        clock.wait_until(t)
        samples.append(devices.read(t))
        observed.append(devices.observe(t))
    return samples, observed
