"""From CasADi to machine code: the C compiler, its cache, kernels and compiled forms."""
