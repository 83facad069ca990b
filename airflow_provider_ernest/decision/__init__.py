"""From seconds to executors: what may be chosen, how it is billed, the cheapest or fastest of it."""
