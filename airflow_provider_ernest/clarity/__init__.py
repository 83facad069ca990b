"""Why a run takes that long: replay, blocked time, stragglers, monotasks, advice, profile."""
