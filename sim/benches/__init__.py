"""Plants on a bench: what calibrations measure."""
