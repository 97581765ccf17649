"""avoid: settings that keep a run clear of known hazards, in the framework's own syntax."""
