"""From words, log, config and versions to the few causes that fit. `diagnose.diagnose` is the way in."""
