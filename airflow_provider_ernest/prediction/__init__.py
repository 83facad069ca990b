"""From observations to seconds: terms, averaging, regression, regimes, validation, training."""
