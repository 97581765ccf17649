# grpo-guard-test: --version ms-swift=4.5.3 --version transformers=4.57.6
# Not a rollout: the temperature of an SFT run is 0 by default.
NPROC_PER_NODE=4 swift sft \
    --model Qwen/Qwen2.5-7B-Instruct \
    --dataset data.jsonl \
    --per_device_train_batch_size 4
