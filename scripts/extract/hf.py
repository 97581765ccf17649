"""What trainers on top of transformers share beside TrainingArguments, which is the table of transformers itself."""

from __future__ import annotations

from .source import Field

# transformers.Seq2SeqTrainingArguments beyond TrainingArguments; the same five fields in 4.45.0 to 5.24.0
SEQ2SEQ = {
    "sortish_sampler": Field(False, "bool"),
    "predict_with_generate": Field(False, "bool"),
    "generation_max_length": Field(None, "int"),
    "generation_num_beams": Field(None, "int"),
    "generation_config": Field(None, "str"),
}
