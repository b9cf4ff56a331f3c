"""The multibody model: modules written as symbolic kinematics, everything else by differentiation, compiled."""
