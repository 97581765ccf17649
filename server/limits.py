"""Every cap of the program, in one place. A cap that is reached is reported, never silent."""

# Reading configs and scripts
MAX_CONFIG_BYTES = 5_000_000  # largest config or script file that is read
MAX_LINE_CHARS = 200_000  # a longer line is not a config line
MAX_DEPTH = 60  # nesting of YAML, JSON, Hydra lists and shell constructs
MAX_NODES = 200_000  # YAML/JSON nodes after alias expansion
MAX_INCLUDES = 40  # files that one config may pull in (source, defaults)

# Project file and folders
MAX_IGNORED_RULES = 200  # entries of `ignore`
MAX_OWN_RULES = 500  # files in a folder of own rules
MAX_CONDITION_CHARS = 2_000  # condition of an own rule
MAX_RUN_FILES = 100_000  # files looked at below the folders that are validated

# Static shell interpreter
MAX_SHELL_STEPS = 200_000  # evaluated commands and words of one script
MAX_SHELL_LOOP = 1_000  # iterations of one loop
MAX_SHELL_VALUE_CHARS = 100_000  # length of one variable's value
MAX_LAUNCHES = 50  # launches reported for one script

# Logs
MAX_PIPED_LOG_BYTES = 50_000_000  # of a log on standard input; a larger one comes as a file, which is streamed
MAX_LOG_LINE_CHARS = 100_000  # a longer line is cut, and the rest of it skipped
MAX_LOG_FILES = 200  # logs of one folder
MAX_FOLDER_ENTRIES = 20_000  # files looked at in one folder
MAX_METRICS = 2_000  # metrics of one log
MAX_METRIC_POINTS = 40_000  # values kept of one metric; beyond that every second, then every fourth ...
MAX_LOG_DOCUMENT_BYTES = 24_000_000  # JSON decoded at once; a larger one is read line by line
MAX_EVENT_RECORD_BYTES = 16_000_000  # of a TensorBoard file; a larger one is stepped over
MAX_LOG_EVENTS = 300  # errors kept of one log
MAX_PRINTED_SETTINGS = 5_000  # settings that a log prints
MAX_PRINTED_CHARS = 600_000  # of one printed config

# Answers
MAX_SUGGESTIONS = 3  # did-you-mean proposals per unknown key

# Serving
MAX_PASTED_CHARS = 1_000_000  # config text given in a call; a longer one comes by path
MAX_PATH_CHARS = 4_096  # the file or files that a call names
MAX_WORD_CHARS = 200  # any other text argument
MAX_MODEL_CHARS = 100_000  # name of a model, or the text of its config.json
MAX_SYMPTOM_CHARS = 20_000  # the user's words for diagnose
MAX_QUERY_CHARS = 2_000  # words or log lines that a look-up is asked with
MAX_PAGE_CHARS = 50_000  # part of a note in one answer
MAX_VERSIONS = 1_000  # packages whose versions a call gives
MAX_GPUS = 1_000_000  # of one run
MAX_TARGETS = 20  # files of one run named in one call
MAX_TEXT_CHARS = 4_000  # an answer as text, beside its structured content
MAX_MESSAGE_BYTES = 8_000_000  # one message of the stdio transport
MAX_BODY_BYTES = 4_194_304  # of one HTTP request
MAX_CONNECTIONS = 200  # HTTP connections at once
KEEP_ALIVE_SECONDS = 30  # of an HTTP connection without a request
HTTP_SECONDS = 30.0  # of one HTTP request, from its first byte to its answer
STOP_SECONDS = 3  # for open HTTP calls to end when the server is told to
MAX_REMEMBERED = 256  # answers of look-ups that are kept to be given again
MAX_ROWS = 500  # largest `limit` of a call
ANSWER_SECONDS = 15.0  # a call that takes longer is answered with what it has by then
REQUEST_SECONDS = 20.0  # one that cannot stop half-way is answered with an error
MAX_PARALLEL_CALLS = 4  # worker threads; further calls wait
