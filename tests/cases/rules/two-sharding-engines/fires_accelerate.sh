accelerate launch --num_processes 8 --use_deepspeed --zero_stage 2 --use_fsdp train.py
