"""Every cap of the program, in one place. A cap that is reached is reported, never silent."""

# Reading configs and scripts
MAX_CONFIG_BYTES = 5_000_000  # largest config or script file that is read
MAX_LINE_CHARS = 200_000  # a longer line is not a config line
MAX_DEPTH = 60  # nesting of YAML, JSON, Hydra lists and shell constructs
MAX_NODES = 200_000  # YAML/JSON nodes after alias expansion
MAX_INCLUDES = 40  # files that one config may pull in (source, defaults)

# Static shell interpreter
MAX_SHELL_STEPS = 200_000  # evaluated commands and words of one script
MAX_SHELL_LOOP = 1_000  # iterations of one loop
MAX_SHELL_VALUE_CHARS = 100_000  # length of one variable's value
MAX_LAUNCHES = 50  # launches reported for one script

# Answers
MAX_SUGGESTIONS = 3  # did-you-mean proposals per unknown key
