# grpo-guard-test: --version easyr1=0.3.2
python3 -m verl.trainer.main \
    config=examples/config.yaml \
    data.rollout_batch_size=512 \
    worker.actor.global_batch_size=128 \
    worker.actor.micro_batch_size_per_device_for_update=4 \
    worker.actor.micro_batch_size_per_device_for_experience=16 \
    worker.actor.model.model_path=Qwen/Qwen2.5-7B-Instruct \
    worker.rollout.n=1 \
    worker.rollout.tensor_parallel_size=2 \
    trainer.n_gpus_per_node=8 \
    trainer.nnodes=1
