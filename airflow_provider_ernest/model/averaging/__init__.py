"""The average over all sets of terms: the predictor, its prior and what it reckons with."""
