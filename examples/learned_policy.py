"""A learned policy: a linear one that brings the free-flyer to its target, found by CMA-ES from nothing.

python learned_policy.py        a few generations
python learned_policy.py 120    some minutes; draws learned_policy.png
"""

import sys

import casadi as ca
import gymnasium
import matplotlib.pyplot as plt
import numpy as np
from cmaes import CMA

import granite
import granite.gym

CANDIDATES, SEEDS = 32, 2
generations = int(sys.argv[1]) if len(sys.argv) > 1 else 3
bed = granite.load("free-flyer", {"loop.duration_s": 30.0 if generations > 3 else 3.0})
envs = gymnasium.make_vec("granite/Testbed-v0", num_envs=CANDIDATES * SEEDS, bed=bed, ticks=20)
n_observed, n_acted = envs.single_observation_space.shape[0], envs.single_action_space.shape[0]


def returns(weights):
    """Mean reward of each candidate over its seeds, while its episode lasts."""
    observed, _ = envs.reset(seed=[1 + i % SEEDS for i in range(envs.num_envs)])
    policy = np.repeat(weights.reshape(CANDIDATES, n_acted, n_observed), SEEDS, axis=0)
    total, is_over, steps = np.zeros(envs.num_envs), np.zeros(envs.num_envs, dtype=bool), 0
    while not is_over.all():
        observed, reward, terminated, truncated, _ = envs.step(np.tanh(np.einsum("kij,kj->ki", policy, observed)))
        total += np.where(is_over, reward.min(), reward)
        is_over |= terminated | truncated
        steps += 1
    return (total / steps).reshape(CANDIDATES, SEEDS).mean(axis=1)


search = CMA(mean=np.zeros(n_acted * n_observed), sigma=1.0, population_size=CANDIDATES, seed=1)
best, best_weights = [], np.zeros(n_acted * n_observed)
for _ in range(generations):
    weights = np.array([search.ask() for _ in range(CANDIDATES)])
    gained = returns(weights)
    search.tell(list(zip(weights, -gained, strict=True)))
    if gained.max() > max(best, default=-np.inf):
        best_weights = weights[gained.argmax()]
    best.append(float(gained.max()))
print(f"{generations} generations: best mean reward {best[0]:.3f} at first, {max(best):.3f} at last")

observation = ca.MX.sym("observation", n_observed)
action = ca.tanh(ca.mtimes(best_weights.reshape(n_acted, n_observed), observation))
policy = ca.Function("policy", [observation], [action], ["observation"], ["action"])
ca.GraphBuilder(policy).export_onnx("policy.onnx")
law = {"kind": "policy", "path": "policy.onnx", "ticks": 20}
flight = granite.simulate(granite.load("free-flyer", {"controller.law": law, "loop.duration_s": 3.0}))
print(f"the policy as a law: {flight}")
if generations > 3:
    plt.plot(best)
    plt.xlabel("generation")
    plt.ylabel("best mean reward")
    plt.savefig("learned_policy.png")
