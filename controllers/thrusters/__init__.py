"""From a wrench on a root body to valves: sharing among the thrusters, and modulation; one file per kind."""

SHARING = {
    "pseudo_inverse": "pseudo_inverse:PseudoInverse",
    "least_propellant": "least_propellant:LeastPropellant",
    "best_pattern": "best_pattern:BestPattern",
}
MODULATION = {
    "threshold": "threshold:Threshold",
    "pulse_width": "pulse_width:PulseWidth",
    "delta_sigma": "delta_sigma:DeltaSigma",
    "proportional": "proportional:Proportional",
}
